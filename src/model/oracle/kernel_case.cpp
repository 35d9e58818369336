// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/kernel_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/random.h"
#include "schedule/members.h"
#include "schedule/text.h"
#include "target/dtype_traits.h"

namespace tilefuse::model {
namespace {

using program::Bytes;

constexpr std::string_view kHeader = "tilefuse case\n";
constexpr std::string_view kMark = "--- ";
constexpr double kUnwritten = 77;
constexpr int kBytesPerLine = 48;

// One `--- WORDS` line and what follows it.
struct Section {
  std::string_view words;
  std::string_view body;
};

std::vector<Section> split(std::string_view text, const std::string &file) {
  if (!is_case(text))
    throw Error(ErrorCode::Syntax, "expected 'tilefuse case' on the first line", file + ":1:1");
  text.remove_prefix(kHeader.size());
  std::vector<Section> sections;
  while (text.starts_with(kMark)) {
    const std::size_t line = std::min(text.find('\n'), text.size());
    const std::size_t next = std::min(text.find("\n--- ", line), text.size() - 1) + 1;
    sections.push_back({text.substr(kMark.size(), line - kMark.size()),
                        text.substr(std::min(line + 1, next), next - std::min(line + 1, next))});
    text.remove_prefix(next);
  }
  return sections;
}

std::string_view body_of(const std::vector<Section> &sections, std::string_view name,
                         const std::string &file) {
  for (const Section &section : sections)
    if (section.words == name)
      return section.body;
  throw Error(ErrorCode::Syntax, fmt::format("the section '--- {}' is missing", name), file);
}

std::uint64_t parse_number(std::string_view text, const std::string &file) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::Syntax, fmt::format("expected a number, got '{}'", text), file);
  return number;
}

int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Bytes parse_hex(std::string_view text, const std::string &file) {
  Bytes bytes;
  int high = -1;
  for (char c : text) {
    if (c == '\n' || c == ' ')
      continue;
    const int value = digit(c);
    if (value < 0)
      throw Error(ErrorCode::Syntax, "a slot holds something else than hexadecimal digits", file);
    if (high >= 0)
      bytes.push_back(static_cast<std::byte>(high * 16 + value));
    high = high >= 0 ? -1 : value;
  }
  return bytes;
}

std::string to_hex(const Bytes &bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
    if ((i + 1) % kBytesPerLine == 0 || i + 1 == bytes.size())
      text += '\n';
  }
  return text;
}

void parse_given(const Section &section, KernelCase &into, const std::string &file) {
  const std::uint64_t slot = parse_number(section.words.substr(5), file);
  const Indexed<poly::SlotId, nest::Slot> slots = group_slots(into.group);
  if (slot >= slots.size())
    throw Error(ErrorCode::Shape, fmt::format("the nest has no slot {}", slot), file);
  Bytes bytes = parse_hex(section.body, file);
  const std::int64_t need = slots[slot].elems * size_bytes(slots[slot].type);
  if (static_cast<std::int64_t>(bytes.size()) != need)
    throw Error(ErrorCode::Shape,
                fmt::format("slot {} has {} bytes, the nest needs {}", slot, bytes.size(), need),
                file);
  into.given[static_cast<poly::SlotId>(slot)] = std::move(bytes);
}

void parse_data(const std::vector<Section> &sections, KernelCase &into, const std::string &file) {
  constexpr std::string_view kIntegers = "data integers ";
  constexpr std::string_view kReals = "data reals ";
  for (const Section &section : sections) {
    if (section.words.starts_with("slot "))
      parse_given(section, into, file);
    const bool reals = section.words.starts_with(kReals);
    if (!reals && !section.words.starts_with(kIntegers))
      continue;
    into.values = reals ? Values::Reals : Values::Integers;
    into.seed = parse_number(section.words.substr((reals ? kReals : kIntegers).size()), file);
  }
}

double draw(Random &random, DType type, Values values) {
  if (type == DType::Bool)
    return static_cast<double>(random.between(0, 1));
  if (values == Values::Reals && is_float(type))
    return 2 * random.unit() - 1;
  return static_cast<double>(random.between(traits(type).is_signed ? -4 : 0, 4));
}

// What a product over points reads.
double draw_factor(Random &random, DType type, Values values) {
  constexpr int kTwos = 4; // in a hundred
  if (type == DType::Bool)
    return draw(random, type, values);
  const double sign = type == DType::U8 || random.chance(50) ? 1 : -1;
  if (values == Values::Reals && is_float(type))
    return sign * (1 + (2 * random.unit() - 1) / 8);
  return random.chance(kTwos) ? 2 * sign : sign;
}

bool is_factor(const poly::Group &group, poly::SlotId slot) {
  std::vector<poly::MemberId> members = {poly::kAnchor};
  for (const poly::MemberId m : producing_members(group))
    members.push_back(m);
  return std::any_of(members.begin(), members.end(), [&](poly::MemberId m) {
    const nest::Nest &nest = member_nest(group, m);
    return nest.agg == program::Agg::Product &&
           std::any_of(nest.inputs.begin(), nest.inputs.end(), [&](const nest::Operand &input) {
             return group_slot(group, m, input.slot) == slot;
           });
  });
}

bool is_read(const nest::Nest &nest, poly::SlotId slot) {
  const auto reads = [&](const nest::Operand &operand) { return operand.slot == slot; };
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), reads) ||
         std::any_of(nest.extras.begin(), nest.extras.end(), reads);
}

} // namespace

bool is_case(std::string_view text) { return text.starts_with(kHeader); }

std::string to_text(const KernelCase &from) {
  std::string text = fmt::format("{}--- target\n{}--- group\n{}--- schedule\n{}--- data {} {}\n",
                                 kHeader, tilefuse::to_text(from.target), poly::to_text(from.group),
                                 schedule::to_text(from.group, from.schedule),
                                 from.values == Values::Reals ? "reals" : "integers", from.seed);
  for (const auto &[slot, bytes] : from.given)
    text += fmt::format("--- slot {}\n{}", slot, to_hex(bytes));
  return text;
}

KernelCase parse_case(std::string_view text, const std::string &file) {
  const std::vector<Section> sections = split(text, file);
  KernelCase result;
  result.target = parse_target(body_of(sections, "target", file), file);
  result.group = poly::parse_group(body_of(sections, "group", file), file);
  result.schedule =
      schedule::parse_schedule(result.group, body_of(sections, "schedule", file), file);
  parse_data(sections, result, file);
  return result;
}

std::vector<Bytes> make_slots(const KernelCase &from) {
  const nest::Nest &nest = from.group.anchor;
  const std::vector<poly::SlotId> written = written_slots(from.group);
  Random random(from.seed);
  std::vector<Bytes> slots;
  const Indexed<poly::SlotId, nest::Slot> all = group_slots(from.group);
  for (const poly::SlotId number : all.ids()) {
    const nest::Slot &slot = all[number];
    if (const auto given = from.given.find(number); given != from.given.end()) {
      slots.push_back(given->second);
      continue;
    }
    slots.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    const bool only_written = std::count(written.begin(), written.end(), number) > 0 &&
                              (number != nest.out.slot || !is_read(nest, number));
    const auto drawn = is_factor(from.group, number) ? draw_factor : draw;
    for (std::int64_t i = 0; i < slot.elems; ++i)
      store_element(slots.back().data(), slot.type, i,
                    only_written ? kUnwritten : drawn(random, slot.type, from.values));
  }
  return slots;
}

} // namespace tilefuse::model
