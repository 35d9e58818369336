// SPDX-License-Identifier: Apache-2.0
#include "tile/format.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/format_line.h"
#include "tile/parser.h"

namespace tilefuse::tile {
namespace {

constexpr std::size_t kStatement = 2;    // columns before a statement
constexpr std::size_t kContinuation = 6; // and before its further lines

struct Comment {
  std::string text;
  bool own_line = false;     // else it stands behind something
  bool blank_before = false; // an empty line stands before it
};

// Comments between two tokens, and whether an empty line stands before the
// second.
struct Gap {
  std::vector<Comment> comments;
  bool blank = false;
  bool newline = false; // the tokens stand on different lines
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// `text` holds blanks and comments only; `begins`: it begins the file.
Gap read_gap(std::string_view text, bool begins) {
  Gap gap;
  int newlines = begins ? 1 : 0;
  bool any_newline = begins;
  while (!text.empty()) {
    if (text[0] != '/') {
      newlines += text[0] == '\n' ? 1 : 0;
      any_newline = any_newline || text[0] == '\n';
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(text.find('\n'), text.size());
    gap.comments.push_back({std::string(trimmed(text.substr(0, end))), newlines > 0, newlines > 1});
    text.remove_prefix(end);
    newlines = 0;
  }
  gap.blank = newlines > 1;
  gap.newline = any_newline || !gap.comments.empty();
  return gap;
}

// Writes functions token by token; gaps_[i] stands before token i.
class Writer {
public:
  Writer(std::string_view text, const std::vector<Token> &tokens) : tokens_(tokens) {
    const char *from = text.data();
    for (const Token &token : tokens) {
      const bool is_end = token.kind == TokenKind::End;
      const char *to = is_end ? text.data() + text.size() : token.text.data();
      gaps_.push_back(read_gap({from, static_cast<std::size_t>(to - from)}, from == text.data()));
      from = to + token.text.size();
    }
  }

  std::string run() {
    std::size_t at = 0;
    while (tokens_[at].kind != TokenKind::End)
      at = function(at);
    lead(at, 0);
    std::string out;
    for (const std::string &line : lines_)
      out += line + "\n";
    return out;
  }

private:
  std::size_t find(std::size_t from, std::string_view text) const {
    int level = 0;
    for (std::size_t i = from; i < tokens_.size(); ++i) {
      const std::string_view token = tokens_[i].text;
      if (level == 0 && token == text)
        return i;
      level += token == "(" || token == "[" ? 1 : (token == ")" || token == "]" ? -1 : 0);
    }
    return tokens_.size() - 1;
  }

  // Behind the function that begins at `begin`.
  std::size_t function(std::size_t begin) {
    const std::size_t open = find(begin, "{");
    const std::size_t close = find(open, "}");
    lead(begin, 0);
    if (one_line(begin, open, close))
      return close + 1;
    const std::size_t margin = header_margin(begin, open);
    chunk(begin, open + 1, {0, margin});
    for (std::size_t at = open + 1; at < close;) {
      const std::size_t end = find(at, ";") + 1;
      lead(at, kStatement, at == open + 1);
      chunk(at, end, {kStatement, kContinuation});
      at = end;
    }
    lead(close, kStatement, true);
    lines_.emplace_back("}");
    return close + 1;
  }

  // Behind the parenthesis of the parameters.
  std::size_t header_margin(std::size_t begin, std::size_t open) const {
    const std::size_t bracket = std::min(find(begin, "("), open);
    const std::vector<Word> words =
        words_of(std::span(tokens_).subspan(begin, bracket + 1 - begin));
    std::size_t margin = 0;
    for (const Word &word : words)
      margin += word.text.size() + (word.space ? 1 : 0);
    return std::min(margin, kColumns / 2);
  }

  // A function of at most one statement that stands on one line and fits there.
  bool one_line(std::size_t begin, std::size_t open, std::size_t close) {
    for (std::size_t i = begin + 1; i <= close; ++i)
      if (!gaps_[i].comments.empty() || (gaps_[i].newline && i > open))
        return false;
    const auto all = std::span(tokens_);
    const std::size_t first = open + 1;
    if (first < close && find(first, ";") + 1 != close)
      return false;
    const std::vector<std::string> header = joined(all.subspan(begin, first - begin));
    const std::vector<std::string> body = joined(all.subspan(first, close - first));
    if (header.size() != 1 || body.size() > 1)
      return false;
    const std::string line = header[0] + (body.empty() ? "}" : " " + body[0] + " }");
    if (line.size() > kColumns)
      return false;
    lines_.push_back(line);
    return true;
  }

  static std::vector<std::string> joined(std::span<const Token> tokens) {
    return lines_of(words_of(tokens), {});
  }

  // Comments and empty lines before token `at`; `begins`: nothing stands before
  // them in their block.
  void lead(std::size_t at, std::size_t indent, bool begins = false) {
    const Gap &gap = gaps_[at];
    for (std::size_t i = 0; i < gap.comments.size(); ++i) {
      const bool first = lines_.empty() || (begins && (i == 0 || !gap.comments[i - 1].own_line));
      comment(gap.comments[i], indent, !first);
    }
    const bool first = lines_.empty() || (begins && !has_own_line(gap));
    const bool last = tokens_[at].kind == TokenKind::End || tokens_[at].text == "}";
    if (gap.blank && !first && !last)
      lines_.emplace_back();
  }

  static bool has_own_line(const Gap &gap) {
    return std::any_of(gap.comments.begin(), gap.comments.end(),
                       [](const Comment &comment) { return comment.own_line; });
  }

  void comment(const Comment &comment, std::size_t indent, bool may_be_blank) {
    if (!comment.own_line && !lines_.empty()) {
      lines_.back() += " " + comment.text;
      return;
    }
    if (comment.blank_before && may_be_blank)
      lines_.emplace_back();
    lines_.push_back(std::string(indent, ' ') + comment.text);
  }

  // Tokens [begin, end) as lines, cut at the comments between them.
  void chunk(std::size_t begin, std::size_t end, Indent indent) {
    const std::vector<Word> words = words_of(std::span(tokens_).subspan(begin, end - begin));
    std::size_t done = 0;
    std::size_t until = 0;
    for (std::size_t i = begin + 1; i <= end; ++i) {
      while (until < words.size() && words[until].token < i - begin)
        ++until;
      if (i != end && gaps_[i].comments.empty())
        continue;
      for (std::string &line : lines_of(std::span(words).subspan(done, until - done), indent))
        lines_.push_back(std::move(line));
      done = until;
      indent.first = indent.rest;
      for (std::size_t c = 0; i < end && c < gaps_[i].comments.size(); ++c)
        comment(gaps_[i].comments[c], indent.rest, false);
    }
  }

  const std::vector<Token> &tokens_;
  std::vector<Gap> gaps_;
  std::vector<std::string> lines_;
};

} // namespace

std::string format(std::string_view text, const std::string &file) {
  Diagnostics diagnostics(text, file);
  parse_functions(text, file, diagnostics);
  diagnostics.throw_if_any();
  return Writer(text, tokenize(text, file, diagnostics)).run();
}

} // namespace tilefuse::tile
