// SPDX-License-Identifier: Apache-2.0
#include "package/package.h"

#include <bit>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/words.h"
#include "target/dtype_traits.h"

namespace tilefuse {
namespace {

// File: magic, version, content hash of what follows (32 hex digits), fields in declaration order.
constexpr std::string_view kMagic = "TFPK";
constexpr std::uint64_t kVersion = 3;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kHeaderBytes = 4 + 8 + kHashDigits;
constexpr std::size_t kArgumentBytes = 9;

constexpr auto kFormats = words<CodeFormat>({{CodeFormat::OpenclSource, "opencl_source"},
                                             {CodeFormat::OpenclBinary, "opencl_binary"},
                                             {CodeFormat::ElfObject, "elf_object"},
                                             {CodeFormat::CudaSource, "cuda_source"},
                                             {CodeFormat::CudaBinary, "cuda_binary"}});

[[noreturn]] void damaged(std::string_view what) {
  throw Error(ErrorCode::Io, fmt::format("a stored kernel package is damaged: {}", what));
}

class Writer {
public:
  void byte(std::uint8_t value) { out_ += static_cast<char>(value); }
  void word(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      byte(static_cast<std::uint8_t>(value >> shift));
  }
  void integer(std::int64_t value) { word(static_cast<std::uint64_t>(value)); }
  void real(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    word(value.size());
    out_ += value;
  }
  void integers(const std::vector<std::int64_t> &list) {
    word(list.size());
    for (const std::int64_t value : list)
      integer(value);
  }
  std::string take() { return std::move(out_); }

private:
  std::string out_;
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view bytes(std::uint64_t count) {
    if (count > rest_.size())
      damaged("it ends too early");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(bytes(1)[0]); }
  std::uint64_t word() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char c : bytes(8)) {
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(c)) << shift;
      shift += 8;
    }
    return value;
  }
  std::int64_t integer() { return static_cast<std::int64_t>(word()); }
  double real() { return std::bit_cast<double>(word()); }
  std::string text() { return std::string(bytes(word())); }
  std::vector<std::int64_t> integers() {
    const std::uint64_t count = word();
    if (count > rest_.size() / sizeof(std::int64_t))
      damaged("a list is longer than it");
    std::vector<std::int64_t> list;
    for (std::uint64_t i = 0; i < count; ++i)
      list.push_back(integer());
    return list;
  }
  bool flag() {
    const std::uint8_t value = byte();
    if (value > 1)
      damaged("a flag is neither 0 nor 1");
    return value == 1;
  }
  std::size_t remaining() const { return rest_.size(); }

private:
  std::string_view rest_;
};

CodeFormat read_format(Reader &in) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(CodeFormat::CudaBinary))
    damaged("its code format is unknown");
  return static_cast<CodeFormat>(value);
}

void write_view(Writer &out, const TensorView &view) {
  out.integer(view.argument);
  out.byte(static_cast<std::uint8_t>(view.type));
  out.integer(view.offset);
  for (const auto *list :
       {&view.dims, &view.strides, &view.box, &view.lower, &view.upper, &view.steps})
    out.integers(*list);
  out.integer(view.swizzle);
}

TensorView read_view(Reader &in) {
  TensorView view;
  view.argument = in.integer();
  const std::uint8_t type = in.byte();
  if (type >= dtypes().size())
    damaged("the type of a tensor is unknown");
  view.type = static_cast<DType>(type);
  view.offset = in.integer();
  for (auto *list : {&view.dims, &view.strides, &view.box, &view.lower, &view.upper, &view.steps})
    *list = in.integers();
  view.swizzle = in.integer();
  return view;
}

std::string map_line(std::size_t number, const TensorView &view) {
  std::string text =
      fmt::format("  map {} of arg {} {} + {} dims {} strides {} box {}", number, view.argument,
                  to_string(view.type), view.offset, view.dims, view.strides, view.box);
  if (!view.lower.empty())
    text += fmt::format(" lower {} upper {}", view.lower, view.upper);
  if (!view.steps.empty())
    text += fmt::format(" steps {}", view.steps);
  return text + fmt::format(" swizzle {}\n", view.swizzle);
}

std::string header(std::string_view body) {
  Writer out;
  out.word(kVersion);
  return std::string(kMagic) + out.take() + content_hash(body);
}

std::string_view checked_body(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic)
    damaged("it is not a package");
  if (Reader(bytes.substr(kMagic.size())).word() != kVersion)
    damaged("its version is another one");
  const std::string_view body = bytes.substr(kHeaderBytes);
  if (content_hash(body) != bytes.substr(kHeaderBytes - kHashDigits, kHashDigits))
    damaged("its checksum is wrong");
  return body;
}

} // namespace

std::string serialize(const Package &package) {
  Writer out;
  out.text(package.name);
  out.text(package.symbol);
  out.byte(static_cast<std::uint8_t>(package.format));
  out.text(package.code);
  out.integer(package.blocks);
  out.integer(package.block_size);
  out.integer(package.scratch_bytes);
  out.word(package.args.size());
  for (const Argument &arg : package.args) {
    out.integer(arg.bytes);
    out.byte(arg.written ? 1 : 0);
  }
  out.integer(package.counts);
  out.word(package.maps.size());
  for (const TensorView &view : package.maps)
    write_view(out, view);
  out.real(package.flops);
  out.real(package.bytes);
  const std::string body = out.take();
  return header(body) + body;
}

Package deserialize(std::string_view bytes) {
  Reader in(checked_body(bytes));
  Package package;
  package.name = in.text();
  package.symbol = in.text();
  package.format = read_format(in);
  package.code = in.text();
  package.blocks = in.integer();
  package.block_size = in.integer();
  package.scratch_bytes = in.integer();
  const std::uint64_t count = in.word();
  if (count > in.remaining() / kArgumentBytes)
    damaged("its argument count is absurd");
  for (std::uint64_t i = 0; i < count; ++i) {
    Argument arg;
    arg.bytes = in.integer();
    arg.written = in.flag();
    package.args.push_back(arg);
  }
  package.counts = in.integer();
  if (package.counts < 0)
    damaged("its count of counts is absurd");
  const std::uint64_t maps = in.word();
  if (maps > in.remaining())
    damaged("its map count is absurd");
  for (std::uint64_t i = 0; i < maps; ++i)
    package.maps.push_back(read_view(in));
  package.flops = in.real();
  package.bytes = in.real();
  if (in.remaining() != 0)
    damaged("something follows its end");
  return package;
}

std::string to_text(const Package &package) {
  std::string text =
      fmt::format("package {}\n  symbol {}\n  format {}\n  code_bytes {}\n", package.name,
                  package.symbol, kFormats[package.format], package.code.size());
  text += fmt::format("  blocks {}\n  block_size {}\n  scratch_bytes {}\n  flops {}\n  bytes {}\n",
                      package.blocks, package.block_size, package.scratch_bytes, package.flops,
                      package.bytes);
  for (std::size_t i = 0; i < package.args.size(); ++i) {
    text += fmt::format("  arg {} bytes {} {}\n", i, package.args[i].bytes,
                        package.args[i].written ? "written" : "read");
  }
  if (package.counts > 0)
    text += fmt::format("  counts {}\n", package.counts);
  for (std::size_t i = 0; i < package.maps.size(); ++i)
    text += map_line(i, package.maps[i]);
  if (package.format == CodeFormat::OpenclSource || package.format == CodeFormat::CudaSource)
    text += "\n" + package.code;
  return text;
}

} // namespace tilefuse
