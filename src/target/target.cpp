// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/scanner.h"

namespace tilefuse {
namespace {

// In declaration order: the order of the text form.
constexpr auto kFields = std::to_array<TargetField>({
    {"name", &Target::name},
    {"backend", &Target::backend},
    {"isa", &Target::isa},
    {"compiler", &Target::compiler},
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
    {"features", &Target::features},
    {"dots", &Target::dots},
    {"rates_like", &Target::rates_like},
});

constexpr std::string_view kRatePrefix = "rates.";

template <class Field>
const Field *find_field(std::span<const Field> fields, std::string_view key) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field &field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

// The value of one field as text.
struct Print {
  const Target &target;
  std::string operator()(std::string Target::*m) const { return tilefuse::quoted(target.*m); }
  std::string operator()(LaneKind Target::*m) const { return std::string(to_string(target.*m)); }
  std::string operator()(bool Target::*m) const { return target.*m ? "true" : "false"; }
  std::string operator()(Features Target::*m) const { return to_text(target.*m); }
  std::string operator()(std::vector<DotRate> Target::*m) const {
    std::string text;
    for (const DotRate &dot : target.*m)
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", dot.op->name, dot.gops_per_unit);
    return text;
  }
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
  // As many names as there are; what follows is the next key.
  void operator()(Features Target::*m) const {
    target.*m = {};
    for (auto feature = parse_feature(in.peek().text); feature;
         feature = parse_feature(in.peek().text)) {
      (target.*m).insert(*feature);
      in.next();
    }
  }
  void operator()(std::vector<DotRate> Target::*m) const {
    target.*m = {};
    for (const DotOp *op = find_dot_op(in.peek().text); op != nullptr;
         op = find_dot_op(in.peek().text)) {
      in.next();
      (target.*m).push_back({op, in.expect_number("a rate")});
    }
  }
};

// The value that follows a key.
void scan_value(std::string_view key, Target &target, Scanner &in) {
  if (const TargetField *field = find_field(target_fields(), key))
    return std::visit(Scan{target, in}, field->member);
  target.rates.*find_field(rate_fields(), key.substr(kRatePrefix.size()))->member =
      in.expect_number("a number");
}

bool is_key(std::string_view key) {
  return find_field(target_fields(), key) != nullptr ||
         (key.starts_with(kRatePrefix) &&
          find_field(rate_fields(), key.substr(kRatePrefix.size())) != nullptr);
}

} // namespace

std::string_view to_string(LaneKind kind) {
  return kind == LaneKind::Vector ? "vector" : "workitem";
}

std::optional<LaneKind> parse_lane_kind(std::string_view name) {
  for (const LaneKind kind : {LaneKind::Vector, LaneKind::WorkItem})
    if (to_string(kind) == name)
      return kind;
  return std::nullopt;
}

const DotRate *find_dot(const Target &target, const DotOp &op) {
  const auto found = std::find_if(target.dots.begin(), target.dots.end(),
                                  [&](const DotRate &dot) { return dot.op == &op; });
  return found == target.dots.end() ? nullptr : &*found;
}

std::span<const TargetField> target_fields() { return kFields; }

std::string to_text(const Target &target) {
  std::string text;
  for (const TargetField &field : kFields)
    text += fmt::format("{} {}\n", field.key, std::visit(Print{target}, field.member));
  if (target.rates == Rates{})
    return text;
  for (const RateField &rate : rate_fields())
    text += fmt::format("{}{} {}\n", kRatePrefix, rate.key, target.rates.*rate.member);
  return text;
}

Target parse_target(std::string_view text, const std::string &file) {
  Scanner in(text, file);
  Target target;
  std::set<std::string_view> seen;
  while (!in.at_end()) {
    if (!seen.insert(in.peek().text).second)
      in.fail("each key once");
    const std::string_view key = in.peek().text;
    if (in.peek().kind != TokenKind::Name || !is_key(key))
      in.fail("a key of a target");
    in.next();
    scan_value(key, target, in);
  }
  return target;
}

} // namespace tilefuse
