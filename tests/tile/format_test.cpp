// SPDX-License-Identifier: Apache-2.0
// The formatter: what it makes of odd texts, that the operator library is formatted, and over
// random texts that it changes no tree and has nothing left to do after itself.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "paths.h"
#include "tile/format.h"
#include "tile/parser.h"

namespace tilefuse::tile {
namespace {

std::vector<Function> parse(const std::string &text) {
  Diagnostics diagnostics(text, "t.tile");
  std::vector<Function> functions;
  for (ParsedFunction &parsed : parse_functions(text, "t.tile", diagnostics))
    functions.push_back(std::move(parsed.function));
  diagnostics.throw_if_any();
  return functions;
}

// Formats, and checks what holds for every text.
std::string formatted(const std::string &text) {
  std::string once = format(text, "t.tile");
  EXPECT_TRUE(parse(once) == parse(text)) << once;
  EXPECT_EQ(format(once, "t.tile"), once);
  return once;
}

TEST(TileFormat, SpacesFollowTheTokens) {
  const auto body = [](const std::string &statement) {
    const std::string text = formatted("function f(X[N],Y;K=-1)->(O){" + statement + "}");
    return text.substr(text.find("{ ") + 2, text.rfind(" }") - text.find("{ ") - 2);
  };
  EXPECT_EQ(body("O=X*2+Y/-K;"), "O = X*2 + Y/-K;");
  EXPECT_EQ(body("O=-(X+1)*exp ( -Y );"), "O = -(X + 1)*exp(-Y);");
  EXPECT_EQ(body("O = X<1&&Y>=2?X:~Y<<1;"), "O = X < 1 && Y >= 2 ? X : ~Y << 1;");
  EXPECT_EQ(body("O[x:N]=+(X[2x+1]*Y[N-x-1]),x<3,-x<N default Y;"),
            "O[x : N] = +(X[2*x + 1] * Y[N - x - 1]), x < 3, -x < N default Y;");
  EXPECT_EQ(body("O[x:N]=+(X[i/2x-2x+x*3i]*Y[-2x]);"),
            "O[x : N] = +(X[i/(2*x) - 2*x + x*(3*i)] * Y[-(2*x)]);");
  EXPECT_EQ(body("O[]==(X[0]);"), "O[] = =(X[0]);");
  EXPECT_EQ(body("O[ : ]=>(X[x]+Y[x]) no_defract;"), "O[:] = >(X[x] + Y[x]) no_defract;");
  EXPECT_EQ(body("O[x:N]=<(X[x]==Y[x]?X[x/2]);"), "O[x : N] = <(X[x] == Y[x] ? X[x/2]);");
  EXPECT_EQ(body("[[a( b,c )]][[d]]O=max(X,1,);"), "[[a(b, c)]] [[d]] O = max(X, 1,);");
  EXPECT_EQ(body("O,P=g(X;K=1,L = K*2);"), "O, P = g(X; K = 1, L = K*2);");
  EXPECT_EQ(body("O=#X+#y';"), "O = X + #y';");
  EXPECT_EQ(formatted("function(f16 X)->(Y){Y=X;}"), "function (f16 X) -> (Y) { Y = X; }\n");
  EXPECT_EQ(formatted("function f(;K)->(Y){Y=fill(K);}"),
            "function f(; K) -> (Y) { Y = fill(K); }\n");
}

TEST(TileFormat, CommentsAndEmptyLinesStay) {
  EXPECT_EQ(
      formatted("//a\r\n\n\n// b  \nfunction f(X) // c\n -> (Y) { // d\n\n  // e\n  Y=X; // f\n"
                "\n\n\n  Z = // g\n X +\n // h\n Y; // i\n // j\n\n}  // k\n\n\n\n// l"),
      "//a\n\n// b\nfunction f(X) // c\n           -> (Y) { // d\n  // e\n  Y = X; // f\n\n"
      "  Z = // g\n      X +\n      // h\n      Y; // i\n  // j\n} // k\n\n// l\n");
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted("\n\n  // only\n\n"), "// only\n");
  EXPECT_EQ(formatted("function f(X) -> (Y) {\n\n\n}"), "function f(X) -> (Y) {\n}\n");
  EXPECT_EQ(formatted("function f(X) -> (Y) { }function g(X) -> (Y) {Y=X;Z=X;}"),
            "function f(X) -> (Y) {}\nfunction g(X) -> (Y) {\n  Y = X;\n  Z = X;\n}\n");
}

TEST(TileFormat, LongLinesBreakAtTheOutermostLevel) {
  const std::string sum(60, 'A');
  EXPECT_EQ(formatted("function f(X) -> (Y) { Y = max(" + sum + ", X) + min(X, " + sum + "); }"),
            "function f(X) -> (Y) {\n  Y =\n      max(" + sum + ", X) +\n      min(X, " + sum +
                ");\n}\n");
  EXPECT_EQ(
      formatted("function conv(INPUT[N, C, H, W], FILTER[M, C, R, S]; SY = 1, SX = 1, DY = 1, "
                "DX = 1, PY = 0, PX = 0, HEIGHT, WIDTH) -> (O) { O = INPUT; }"),
      "function conv(INPUT[N, C, H, W], FILTER[M, C, R, S];\n"
      "              SY = 1, SX = 1, DY = 1, DX = 1, PY = 0, PX = 0, HEIGHT, WIDTH) -> (O) {\n"
      "  O = INPUT;\n}\n");
}

TEST(TileFormat, RefusesWhatDoesNotParse) {
  EXPECT_THROW(format("function f(X) -> (Y) { Y = ; }", "t.tile"), Error);
  EXPECT_THROW(format("\"", "t.tile"), Error);
  EXPECT_EQ(format("function f(X) -> (Y) { Y = UNKNOWN; }", "t.tile"),
            "function f(X) -> (Y) { Y = UNKNOWN; }\n");
}

std::vector<std::filesystem::path> library_files() {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(TILEFUSE_SOURCE_DIR "/ops"))
    files.push_back(entry.path());
  return files;
}

std::string read(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(TileFormat, TheLibraryIsFormatted) {
  for (const std::filesystem::path &path : library_files())
    EXPECT_TRUE(formatted(read(path)) == read(path)) << "run tilefuse fmt " << path;
}

// Draws the tokens of a random text, which parses.
class RandomText {
public:
  explicit RandomText(std::uint64_t seed) : engine_(seed) {}

  std::string draw() {
    for (int i = below(3); i >= 0; --i)
      function();
    return text_ + gap();
  }

private:
  int below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(engine_); }
  bool coin() { return below(2) == 0; }
  std::string any(const std::vector<std::string> &list) {
    return list[at(below(static_cast<int>(list.size())))];
  }

  std::string gap() {
    std::string gap = " ";
    for (int i = below(4); i >= 0; --i)
      gap += any({" ", " ", " ", "\t", "\n", "\n\n\n", "\r\n", "// comment\n", " //x \n"});
    return gap;
  }

  void put(const std::string &token) {
    const std::string loose = "()[],;{}";
    const bool apart = text_.empty() || (loose.find(text_.back()) == std::string::npos &&
                                         loose.find(token[0]) == std::string::npos);
    text_ += below(4) == 0 ? gap() : (apart || coin() ? " " : "");
    text_ += token;
  }
  void put_all(const std::vector<std::string> &tokens) {
    for (const std::string &token : tokens)
      put(token);
  }

  std::string upper() { return any({"X", "Y", "N", "LONG_NAME_OF_A_TENSOR", "#x", "#Out", "A'"}); }
  std::string lower() { return any({"i", "j", "index_of_a_row", "$I", "$k", "c'"}); }

  // `count` things with `separator` between.
  template <class F> void list(int count, const std::string &separator, F item) {
    for (int i = 0; i < count; ++i) {
      if (i > 0)
        put(separator);
      item();
    }
  }

  void expression(int depth, bool subscripts) {
    switch (depth <= 0 ? below(3) : below(subscripts ? 6 : 9)) {
    case 0:
      return put(upper());
    case 1:
      return put(any({"0", "3", "12345678901"}));
    case 2:
      return put(subscripts ? lower() : "2.5e-3");
    case 3:
      put(any({"-", "-", subscripts ? "-" : "~"}));
      return operand(depth, subscripts);
    case 4:
      put("(");
      expression(depth - 1, subscripts);
      return put(")");
    case 5:
      operand(depth, subscripts);
      put(subscripts ? any({"+", "-", "*", "/"})
                     : any({"+", "-", "*", "/", "<", "<=", "==", "!=", "&&", "||", "&", "|", "^",
                            "<<", ">>"}));
      return operand(depth, subscripts);
    case 6:
      operand(depth, false);
      put("?");
      expression(depth - 1, false);
      put(":");
      return expression(depth - 1, false);
    default:
      return call(depth);
    }
  }

  void operand(int depth, bool subscripts) {
    const bool leaf = coin();
    if (leaf)
      return expression(0, subscripts);
    put("(");
    expression(depth - 1, subscripts);
    put(")");
  }

  void call(int depth) {
    put_all({lower(), "("});
    list(below(4), ",", [&] { expression(depth - 1, false); });
    if (coin()) {
      put(";");
      list(1 + below(2), ",", [&] {
        put_all({upper(), "="});
        expression(depth - 1, false);
      });
    }
    put(")");
  }

  void subscripts() {
    list(1 + below(4), ",", [&] { expression(below(3), true); });
  }

  void reference() {
    put_all({upper(), "["});
    if (coin())
      subscripts();
    put("]");
  }

  void contraction() {
    put_all({upper(), "["});
    if (below(3) > 0) {
      subscripts();
      put(":");
      subscripts();
    }
    put("]");
    if (below(4) == 0)
      put("==");
    else
      put_all({"=", any({"+", "*", ">", "<", "="})});
    put("(");
    reference();
    const int form = below(4);
    if (form > 0) {
      put(form == 3 ? "==" : any({"*", "+"}));
      reference();
    }
    if (form == 3 && coin()) {
      put("?");
      reference();
    }
    put(")");
    for (int i = below(3); i > 0; --i) {
      put(",");
      expression(2, true);
      put("<");
      expression(1, true);
    }
    if (coin())
      put("no_defract");
    if (coin())
      put_all({"default", upper()});
  }

  void statement() {
    if (below(6) == 0)
      put_all({"[", "[", "hint", "(", "a", ",", "b", ")", "]", "]"});
    if (coin()) {
      contraction();
    } else {
      list(below(5) == 0 ? 2 : 1, ",", [&] { put(upper()); });
      put("=");
      expression(4, false);
    }
    put(";");
  }

  void function() {
    put("function");
    if (below(4) > 0)
      put(lower());
    put("(");
    list(below(4), ",", [&] {
      if (below(4) == 0)
        put(any({"f16", "i8", "f32"}));
      put(upper());
      if (coin()) {
        put("[");
        list(below(4), ",", [&] { put(coin() ? upper() : "7"); });
        put("]");
      }
    });
    if (coin()) {
      put(";");
      list(1 + below(8), ",", [&] {
        put(upper());
        if (coin())
          put_all({"=", any({"1", "- 2", "0.5"})});
      });
    }
    put_all({")", "->", "("});
    list(1 + below(3), ",", [&] { put(upper()); });
    put_all({")", "{"});
    for (int i = below(4); i > 0; --i)
      statement();
    put("}");
  }

  std::mt19937_64 engine_;
  std::string text_;
};

TEST(TileFormat, RandomTextsKeepTheirTreesAndNeedNoSecondPass) {
  EXPECT_TRUE(rc::check("a random text", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    for (std::uint64_t round = 0; round < 5; ++round) {
      const std::string text = RandomText(seed + round).draw();
      const std::vector<Function> tree = parse(text);
      const std::string once = format(text, "t.tile");
      RC_ASSERT(parse(once) == tree);
      RC_ASSERT(format(once, "t.tile") == once);
    }
  }));
}

} // namespace
} // namespace tilefuse::tile
