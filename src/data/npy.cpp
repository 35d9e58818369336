// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "target/dtype_traits.h"

namespace tilefuse::data {
namespace {

using program::HostTensor;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 32;

struct Header {
  std::optional<DType> type;
  std::optional<bool> fortran_order;
  std::optional<program::Shape> shape;
};

// Reads the header's dictionary literal: exactly the three keys, in any order.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        header.type = type();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        fail("a key other than descr, fortran_order and shape");
      }
      if (!accept(',') && peek() != '}')
        fail("something else where ',' or '}' must stand");
    }
    if (peek() != '\0')
      fail("text behind the dictionary");
    if (!header.type || !header.fortran_order || !header.shape)
      fail("not all three keys");
    return header;
  }

private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::Io, fmt::format("not a valid .npy file: its header has {}", what),
                file_);
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (c == '\0' || peek() != c)
      return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c))
      fail(fmt::format("no '{}' where one must stand", c));
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      fail("no quoted text where one must stand");
    const std::size_t begin = ++at_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos)
      fail("a quote that does not end");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  DType type() {
    if (peek() == '[')
      fail("a structured element type, which is not read");
    const std::string_view descr = string();
    for (const DTypeTraits &row : dtypes()) {
      const bool any_order = row.bits == 8;
      const bool matches =
          descr.size() == 3 && !row.npy.empty() && descr.substr(1) == row.npy.substr(1);
      if (matches && (any_order || descr[0] == '<' || descr[0] == '='))
        return row.type;
    }
    throw Error(ErrorCode::Type,
                "elements of this .npy file are of a type or byte order that is not read; need "
                "little-endian f2, f4, f8, i1, u1, i4, i8 or b1",
                file_);
  }

  bool boolean() {
    peek();
    for (bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word)
        continue;
      at_ += word.size();
      return value;
    }
    fail("neither True nor False for fortran_order");
  }

  std::int64_t size() {
    peek();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (at_ - begin == 18)
        throw Error(ErrorCode::Limit, "a size in the header overflows", file_);
      value = value * 10 + (text_[at_] - '0');
    }
    if (at_ == begin)
      fail("no number in its shape");
    return value;
  }

  program::Shape shape() {
    program::Shape sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(size());
      if (sizes.size() > kMaxRank)
        fail("more than 32 dimensions");
      if (!accept(',') && peek() != ')')
        fail("something else where ',' or ')' must stand");
    }
    return sizes;
  }

  std::string_view text_;
  const std::string &file_;
  std::size_t at_ = 0;
};

// Text of the header and place of the first element.
std::pair<std::string_view, std::size_t> split(std::string_view bytes, const std::string &file) {
  const auto damaged = [&](std::string_view what) {
    return Error(ErrorCode::Io, fmt::format("not a valid .npy file: {}", what), file);
  };
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    throw damaged("it does not begin as one");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major != 1 && major != 2)
    throw damaged(fmt::format("format {} is neither 1 nor 2", major));
  const std::size_t prefix = major == 1 ? 10 : 12;
  if (bytes.size() < prefix)
    throw damaged("it is truncated");
  std::size_t length = 0;
  for (std::size_t i = prefix; i > 8; --i)
    length = length * 256 + static_cast<unsigned char>(bytes[i - 1]);
  if (bytes.size() - prefix < length)
    throw damaged("it is truncated");
  return {bytes.substr(prefix, length), prefix + length};
}

std::string_view descr_of(DType type) {
  TILEFUSE_CHECK(!traits(type).npy.empty(), "an element type without an .npy form");
  return traits(type).npy;
}

} // namespace

NpyHead parse_npy_head(std::string_view bytes, std::int64_t file_bytes, const std::string &file) {
  const auto [text, begin] = split(bytes, file);
  Header header = HeaderParser(text, file).parse();
  if (*header.fortran_order && header.shape->size() > 1)
    throw Error(ErrorCode::Type, "this .npy file is in Fortran order, need C order", file,
                {"numpy.ascontiguousarray before numpy.save makes it so"});
  const std::int64_t count = program::elems(*header.shape);
  const std::int64_t element = size_bytes(*header.type);
  const std::int64_t have = file_bytes - static_cast<std::int64_t>(begin);
  if (have % element != 0 || count != have / element)
    throw Error(ErrorCode::Io,
                fmt::format("not a valid .npy file: {} elements follow, its shape [{}] needs {}",
                            have / element, fmt::join(*header.shape, ", "), count),
                file);
  return {*header.type, std::move(*header.shape), static_cast<std::int64_t>(begin)};
}

HostTensor parse_npy(std::string_view bytes, const std::string &file) {
  NpyHead head = parse_npy_head(bytes, static_cast<std::int64_t>(bytes.size()), file);
  HostTensor tensor = program::make_host_tensor({}, head.type, std::move(head.shape));
  if (!tensor.data.empty())
    std::memcpy(tensor.data.data(), bytes.data() + head.begin, tensor.data.size());
  return tensor;
}

std::string npy_head(DType type, const program::Shape &shape) {
  std::string sizes;
  for (std::int64_t size : shape)
    sizes += fmt::format("{},", size);
  if (shape.size() > 1)
    sizes.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(type), sizes);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes +=
      {'\1', '\0', static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  return bytes + header;
}

std::string to_npy(const HostTensor &tensor) {
  if (traits(tensor.type).npy.empty())
    return to_npy(program::convert(tensor, traits(tensor.type).value));
  std::string bytes = npy_head(tensor.type, tensor.shape);
  bytes.append(reinterpret_cast<const char *>(tensor.data.data()), tensor.data.size());
  return bytes;
}

} // namespace tilefuse::data
