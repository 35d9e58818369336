// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/error.h"
#include "base/scanner.h"

namespace tilefuse {
namespace {

using Member = std::variant<std::string Target::*, LaneKind Target::*, int Target::*,
                            std::int64_t Target::*, double Target::*, bool Target::*>;

struct Field {
  std::string_view key;
  Member member;
};

// In declaration order: the order of the text form.
const std::array<Field, 22> kFields = {{
    {"name", &Target::name},
    {"backend", &Target::backend},
    {"isa", &Target::isa},
    {"lanes", &Target::lanes},
    {"vector_f32", &Target::vector_f32},
    {"vector_registers", &Target::vector_registers},
    {"max_group", &Target::max_group},
    {"compute_units", &Target::compute_units},
    {"local_bytes", &Target::local_bytes},
    {"local_is_hw", &Target::local_is_hw},
    {"local_banks", &Target::local_banks},
    {"warp", &Target::warp},
    {"sector_bytes", &Target::sector_bytes},
    {"vector_align", &Target::vector_align},
    {"l1_bytes", &Target::l1_bytes},
    {"l2_bytes", &Target::l2_bytes},
    {"gflops_per_unit", &Target::gflops_per_unit},
    {"gbytes_per_s", &Target::gbytes_per_s},
    {"launch_us", &Target::launch_us},
    {"fp16_storage", &Target::fp16_storage},
    {"fp16_math", &Target::fp16_math},
    {"fp64", &Target::fp64},
}};

const Field *find_field(std::string_view key) {
  for (const Field &field : kFields)
    if (field.key == key)
      return &field;
  return nullptr;
}

std::optional<LaneKind> parse_lane_kind(std::string_view name) {
  for (const LaneKind kind : {LaneKind::Vector, LaneKind::WorkItem})
    if (to_string(kind) == name)
      return kind;
  return std::nullopt;
}

// The value of one field as text.
struct Print {
  const Target &target;
  std::string operator()(std::string Target::*m) const { return tilefuse::quoted(target.*m); }
  std::string operator()(LaneKind Target::*m) const { return std::string(to_string(target.*m)); }
  std::string operator()(bool Target::*m) const { return target.*m ? "true" : "false"; }
  template <class T> std::string operator()(T Target::*m) const {
    return fmt::format("{}", target.*m);
  }
};

// Reads one field's value from the text form.
struct Scan {
  Target &target;
  Scanner &in;
  void operator()(std::string Target::*m) const { target.*m = in.expect_string("a quoted string"); }
  void operator()(LaneKind Target::*m) const {
    const auto kind = parse_lane_kind(in.peek().text);
    if (!kind)
      in.fail("vector or workitem");
    target.*m = *kind;
    in.next();
  }
  void operator()(bool Target::*m) const {
    if (!in.is("true") && !in.is("false"))
      in.fail("true or false");
    target.*m = in.next().text == "true";
  }
  void operator()(int Target::*m) const {
    const std::int64_t value = in.expect_integer("an integer");
    if (!std::in_range<int>(value))
      in.fail("an integer that fits in 32 bits before this");
    target.*m = static_cast<int>(value);
  }
  void operator()(std::int64_t Target::*m) const { target.*m = in.expect_integer("an integer"); }
  void operator()(double Target::*m) const { target.*m = in.expect_number("a number"); }
};

std::string position(const std::string &file, const toml::source_region &source) {
  return fmt::format("{}:{}:{}", file, source.begin.line, source.begin.column);
}

// Reads one field's value from a TOML node.
struct Assign {
  Target &target;
  std::string_view key;
  const toml::node &node;
  const std::string &file;

  [[noreturn]] void fail(std::string_view need) const {
    throw Error(ErrorCode::Io, fmt::format("key '{}' needs {}", key, need),
                position(file, node.source()));
  }
  void operator()(std::string Target::*m) const {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty())
      fail("a string that is not empty");
    target.*m = *value;
  }
  void operator()(LaneKind Target::*m) const {
    const auto kind = parse_lane_kind(node.value_exact<std::string_view>().value_or(""));
    if (!kind)
      fail("\"vector\" or \"workitem\"");
    target.*m = *kind;
  }
  void operator()(bool Target::*m) const {
    const auto value = node.value_exact<bool>();
    if (!value)
      fail("true or false");
    target.*m = *value;
  }
  void operator()(int Target::*m) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || !std::in_range<int>(*value))
      fail("an integer from 1 to 2147483647");
    target.*m = static_cast<int>(*value);
  }
  void operator()(std::int64_t Target::*m) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0)
      fail("an integer of at least 0");
    target.*m = *value;
  }
  void operator()(double Target::*m) const {
    const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value) || *value <= 0)
      fail("a number above 0");
    target.*m = *value;
  }
};

std::string known_keys() {
  std::string list;
  for (const Field &field : kFields)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", field.key);
  return list;
}

toml::table parse_toml(const std::string &file) {
  try {
    return toml::parse_file(file);
  } catch (const toml::parse_error &error) {
    throw Error(ErrorCode::Io, std::string(error.description()), position(file, error.source()));
  }
}

Target read_target(const std::string &file) {
  const toml::table table = parse_toml(file);
  Target target;
  for (const auto &[key, node] : table) {
    const Field *field = find_field(key.str());
    if (field == nullptr) {
      throw Error(ErrorCode::Io, fmt::format("unknown key '{}'", key.str()),
                  position(file, key.source()), {"known keys: " + known_keys()});
    }
    std::visit(Assign{target, field->key, node, file}, field->member);
  }
  for (const std::string_view key : {"name", "backend"}) {
    if (!table.contains(key))
      throw Error(ErrorCode::Io, fmt::format("key '{}' is missing", key), file + ":1:1");
  }
  if (target.backend != "llvm" && target.backend != "opencl" && target.backend != "cuda") {
    throw Error(ErrorCode::Io,
                fmt::format("backend is {}, need \"llvm\", \"opencl\" or \"cuda\"",
                            tilefuse::quoted(target.backend)),
                position(file, table.get("backend")->source()));
  }
  return target;
}

std::vector<std::string> toml_files(const std::string &directory) {
  std::vector<std::string> files;
  std::error_code failure;
  std::filesystem::directory_iterator at(directory, failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    if (at->path().extension() == ".toml")
      files.push_back(at->path().string());
  }
  if (failure)
    throw Error(ErrorCode::Io, fmt::format("cannot read the directory: {}", failure.message()),
                directory);
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

std::string_view to_string(LaneKind kind) {
  return kind == LaneKind::Vector ? "vector" : "workitem";
}

std::string to_text(const Target &target) {
  std::string text;
  for (const Field &field : kFields) {
    text += fmt::format("{} {}\n", field.key, std::visit(Print{target}, field.member));
  }
  return text;
}

Target parse_target(std::string_view text, const std::string &file) {
  Scanner in(text, file);
  Target target;
  std::set<std::string_view> seen;
  while (!in.at_end()) {
    if (!seen.insert(in.peek().text).second)
      in.fail("each key once");
    const Field *field = find_field(in.peek().text);
    if (field == nullptr || !in.is(field->key))
      in.fail("a key of a target");
    in.next();
    std::visit(Scan{target, in}, field->member);
  }
  return target;
}

std::vector<Target> read_targets(const std::string &directory) {
  std::vector<Target> targets;
  for (const std::string &file : toml_files(directory)) {
    Target target = read_target(file);
    for (const Target &other : targets) {
      if (other.name == target.name)
        throw Error(ErrorCode::Io, fmt::format("a second target is named '{}'", target.name), file);
    }
    targets.push_back(std::move(target));
  }
  std::sort(targets.begin(), targets.end(),
            [](const Target &a, const Target &b) { return a.name < b.name; });
  return targets;
}

} // namespace tilefuse
