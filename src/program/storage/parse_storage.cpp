// SPDX-License-Identifier: Apache-2.0
#include "program/storage/parse_storage.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "program/storage/storage.h"

namespace tilefuse::program {
namespace {

// What ends the program's text, in front of the buffers.
constexpr std::string_view kProgramEnd = "\n}\n";
constexpr int kMostTensors = 1 << 20;
constexpr std::int64_t kMostElems = std::int64_t{1} << 48;

class Parser {
public:
  Parser(StoredProgram &stored, std::string_view text, const std::string &file)
      : stored_(stored), scanner_(text, file) {}

  void parse() {
    while (scanner_.accept("buffer"))
      buffer();
    stored_.windows.assign(stored_.program.tensors.size(), {kNoBuffer, 0, {}});
    while (scanner_.accept("window"))
      window();
    if (!scanner_.at_end())
      scanner_.fail("a buffer or a window");
  }

private:
  void buffer() {
    if (scanner_.expect_integer("a buffer's number") != std::ssize(stored_.buffers))
      scanner_.fail("the next buffer's number before this");
    Buffer buffer;
    buffer.is_output = scanner_.accept("output");
    if (scanner_.accept("input"))
      buffer.role = Role::Input;
    else if (scanner_.accept("constant"))
      buffer.role = Role::Constant;
    else if (!buffer.is_output)
      scanner_.expect("temporary");
    const std::optional<DType> type = parse_dtype(scanner_.peek().text);
    if (!type)
      scanner_.fail("a type such as f32");
    scanner_.next();
    buffer.type = *type;
    buffer.elems = scanner_.expect_integer("how many elements");
    if (buffer.elems < 0 || buffer.elems > kMostElems)
      scanner_.fail(fmt::format("0 to {} elements before this", kMostElems));
    buffer.needs_zero = scanner_.accept("zero");
    stored_.buffers.push_back(buffer);
  }

  // The number of a tensor such as %7.
  std::size_t tensor() {
    const std::string_view text = scanner_.peek().text;
    int number = -1;
    const char *end = text.data() + text.size();
    if (scanner_.peek().kind != TokenKind::Name || text.front() != '%')
      scanner_.fail("a tensor such as %0");
    const auto [stop, error] = std::from_chars(text.data() + 1, end, number);
    if (error != std::errc() || stop != end || number >= kMostTensors)
      scanner_.fail(fmt::format("a tensor number below {}", kMostTensors));
    scanner_.next();
    return at(number);
  }

  void window() {
    const std::size_t id = tensor();
    if (id >= stored_.windows.size()) { // of a tensor that nothing needs
      stored_.program.tensors.resize(id + 1);
      stored_.windows.resize(id + 1, {kNoBuffer, 0, {}});
    }
    Window &window = stored_.windows[id];
    scanner_.expect("=");
    const std::int64_t number = scanner_.expect_integer("a buffer's number");
    if (number < 0 || number >= std::ssize(stored_.buffers))
      scanner_.fail(fmt::format("a buffer below {} before this", stored_.buffers.size()));
    window.buffer = BufferId{static_cast<int>(number)};
    scanner_.expect("+");
    window.offset = scanner_.expect_integer("an offset");
    scanner_.expect("[");
    while (!scanner_.accept("]")) {
      window.strides.push_back(scanner_.expect_integer("a stride"));
      if (!scanner_.is("]"))
        scanner_.expect(",");
    }
  }

  StoredProgram &stored_;
  Scanner scanner_;
};

} // namespace

StoredProgram parse_stored_program(std::string_view text, const std::string &file) {
  const std::size_t end = std::min(text.find(kProgramEnd), text.size());
  const std::size_t behind = std::min(end + kProgramEnd.size(), text.size());
  StoredProgram stored{parse_program(text.substr(0, behind), file), {}, {}};
  Parser(stored, text.substr(behind), file).parse();
  verify(stored);
  return stored;
}

} // namespace tilefuse::program
