// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "base/scanner.h"
#include "nest/index.h"
#include "nest/integer/checked.h"
#include "nest/nest.h"

namespace tilefuse::nest {
namespace {

using program::Agg;
using program::Comb;

constexpr std::array<std::pair<Agg, std::string_view>, 5> kAggs = {{{Agg::Sum, "sum"},
                                                                    {Agg::Product, "product"},
                                                                    {Agg::Max, "max"},
                                                                    {Agg::Min, "min"},
                                                                    {Agg::Assign, "assign"}}};
constexpr std::array<std::pair<Comb, std::string_view>, 6> kCombs = {{{Comb::Mul, "mul"},
                                                                      {Comb::Add, "add"},
                                                                      {Comb::Equal, "equal"},
                                                                      {Comb::Select, "select"},
                                                                      {Comb::Term, "term"},
                                                                      {Comb::Pick, "pick"}}};

std::string linear_text(const Linear &form, const std::vector<Index> &indices) {
  std::string out;
  const auto add = [&](std::int64_t value, const std::string &name) {
    const std::int64_t magnitude = value < 0 ? -value : value;
    out += out.empty() ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ");
    if (name.empty())
      out += fmt::format("{}", magnitude);
    else
      out += magnitude == 1 ? name : fmt::format("{}*{}", magnitude, name);
  };
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (form.coeff[i] != 0)
      add(form.coeff[i], indices[i].name);
  if (form.constant != 0 || out.empty())
    add(form.constant, "");
  return out;
}

std::string operand_text(const Operand &operand, const std::vector<Index> &indices) {
  std::string dims;
  for (const Dim &dim : operand.dims)
    dims += fmt::format("{}{}:{}{}*{}", dims.empty() ? "" : ", ",
                        dim.by ? fmt::format("${}", *dim.by) : linear_text(dim.at, indices),
                        dim.size, dim.guarded ? "?" : "", dim.stride);
  return fmt::format("{} + {} {}[{}]\n", operand.slot, operand.offset,
                     operand.constant ? "const " : "", dims);
}

std::string indices_text(const Nest &nest) {
  std::string out = "  index";
  for (const IndexId i : nest.indices.ids()) {
    const bool reduced = to_int(i) == nest.output_indices;
    out += fmt::format("{} {} {}", reduced ? " |" : (i == IndexId{0} ? "" : ","),
                       nest.indices[i].name, nest.indices[i].extent);
  }
  return out + "\n";
}

std::string slots_text(const Nest &nest) {
  std::string out = "  slot";
  for (std::size_t i = 0; i < nest.slots.size(); ++i)
    out += fmt::format("{} {} {} {}", i == 0 ? "" : ",", i, to_string(nest.slots[i].type),
                       nest.slots[i].elems);
  return out + "\n";
}

std::string acc_text(const Nest &nest) {
  std::string out = fmt::format("  acc {} =", to_string(nest.acc_type));
  for (const auto &[agg, name] : kAggs)
    if (agg == nest.agg)
      out += fmt::format(" {}", name);
  for (const auto &[comb, name] : kCombs)
    if (comb == nest.comb)
      out += fmt::format(" {}", name);
  return out + (nest.tf32 ? " tf32\n" : "\n");
}

class NestParser {
public:
  explicit NestParser(Scanner &scanner) : scanner_(scanner) {}

  Nest parse() {
    scanner_.expect("nest");
    nest_.name = scanner_.expect_name("the nest's name");
    scanner_.expect("{");
    indices();
    slots();
    accumulator();
    while (scanner_.accept("in"))
      nest_.inputs.push_back(operand());
    if (nest_.comb == Comb::Term)
      term();
    while (scanner_.accept("where"))
      nest_.constraints.push_back(constraint());
    scanner_.expect("out");
    nest_.out = operand();
    while (scanner_.accept("extra"))
      nest_.extras.push_back(operand());
    post();
    scanner_.expect("}");
    return std::move(nest_);
  }

private:
  void indices() {
    scanner_.expect("index");
    bool reduced = scanner_.accept("|");
    while (!scanner_.is("slot")) {
      Index index;
      index.name = scanner_.expect_name("an index");
      index.extent = scanner_.expect_integer("the index's extent");
      nest_.indices.push_back(index);
      if (!reduced)
        ++nest_.output_indices;
      if (scanner_.accept(","))
        continue;
      if (reduced || !scanner_.accept("|"))
        break;
      reduced = true;
    }
  }

  void slots() {
    scanner_.expect("slot");
    do {
      if (scanner_.expect_integer("a slot's number") !=
          static_cast<std::int64_t>(nest_.slots.size()))
        scanner_.fail("slots numbered from 0 in order");
      Slot slot;
      slot.type = type();
      slot.elems = scanner_.expect_integer("the slot's element count");
      nest_.slots.push_back(slot);
    } while (scanner_.accept(","));
  }

  DType type() {
    const Token token = scanner_.peek();
    const std::optional<DType> type = parse_dtype(token.text);
    if (!type)
      scanner_.fail("an element type");
    scanner_.next();
    return *type;
  }

  void accumulator() {
    scanner_.expect("acc");
    nest_.acc_type = type();
    scanner_.expect("=");
    bool found = false;
    for (const auto &[agg, name] : kAggs)
      if (!found && scanner_.accept(name)) {
        nest_.agg = agg;
        found = true;
      }
    if (!found)
      scanner_.fail("sum, product, max, min or assign");
    for (const auto &[comb, name] : kCombs)
      if (nest_.comb == Comb::None && scanner_.accept(name))
        nest_.comb = comb;
    nest_.tf32 = scanner_.accept("tf32");
  }

  Operand operand() {
    Operand operand;
    const std::int64_t slot = scanner_.expect_integer("a slot's number");
    if (slot < 0 || slot >= static_cast<std::int64_t>(nest_.slots.size()))
      scanner_.fail(fmt::format("a slot below {} before this", nest_.slots.size()));
    operand.slot = static_cast<SlotId>(slot);
    scanner_.expect("+");
    operand.offset = scanner_.expect_integer("an offset");
    operand.constant = scanner_.accept("const");
    scanner_.expect("[");
    while (!scanner_.is("]")) {
      operand.dims.push_back(dim());
      if (!scanner_.accept(","))
        break;
    }
    scanner_.expect("]");
    return operand;
  }

  Dim dim() {
    Dim dim;
    dim.by = said_by();
    if (dim.by)
      dim.at.coeff.assign(nest_.indices.size(), 0);
    else
      dim.at = linear();
    scanner_.expect(":");
    dim.size = scanner_.expect_integer("a dimension's size");
    dim.guarded = scanner_.accept("?");
    scanner_.expect("*");
    dim.stride = scanner_.expect_integer("a dimension's stride");
    return dim;
  }

  // The input whose value is the subscript: `$2`.
  std::optional<int> said_by() {
    const std::string_view text = scanner_.peek().text;
    int number = 0;
    if (!text.starts_with('$'))
      return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
      scanner_.fail("an input's number behind $");
    scanner_.next();
    return number;
  }

  Linear linear() {
    Linear form{0, std::vector<std::int64_t>(nest_.indices.size(), 0)};
    bool negative = scanner_.accept("-");
    do {
      term(form, negative);
      negative = scanner_.is("-");
    } while (scanner_.accept("+") || scanner_.accept("-"));
    return form;
  }

  void term(Linear &form, bool negative) {
    const std::int64_t sign = negative ? -1 : 1;
    std::int64_t factor = sign;
    if (scanner_.peek().kind == TokenKind::Integer) {
      factor = checked_mul(sign, scanner_.expect_integer("a number"));
      if (!scanner_.accept("*")) {
        form.constant = checked_add(form.constant, factor);
        return;
      }
    }
    const std::string name =
        scanner_.peek().kind == TokenKind::Name ? std::string(scanner_.peek().text) : std::string();
    for (const IndexId i : nest_.indices.ids())
      if (nest_.indices[i].name == name) {
        scanner_.next();
        form.coeff[i] = checked_add(form.coeff[i], factor);
        return;
      }
    scanner_.fail("an index of the nest or a number");
  }

  Constraint constraint() {
    Constraint constraint;
    constraint.expr = linear();
    scanner_.expect("<");
    constraint.bound = scanner_.expect_integer("a bound");
    return constraint;
  }

  void term() {
    scanner_.expect("term");
    const std::vector<DType> types(nest_.inputs.size(), nest_.acc_type);
    nest_.term = program::parse_expr(scanner_, types, std::nullopt);
  }

  void post() {
    scanner_.expect("post");
    std::vector<DType> types;
    for (const Operand &extra : nest_.extras)
      types.push_back(type_of(nest_, extra));
    const std::optional<DType> acc =
        nest_.inputs.empty() ? std::nullopt : std::optional(nest_.acc_type);
    nest_.post = program::parse_expr(scanner_, types, acc);
  }

  Scanner &scanner_;
  Nest nest_;
};

} // namespace

std::string to_text(const Nest &nest) {
  std::string out = fmt::format("nest {} {{\n", nest.name);
  out += indices_text(nest) + slots_text(nest) + acc_text(nest);
  for (const Operand &input : nest.inputs)
    out += "  in " + operand_text(input, nest.indices);
  if (nest.comb == Comb::Term)
    out += fmt::format("  term {}\n", program::to_text(nest.term));
  for (const Constraint &constraint : nest.constraints)
    out += fmt::format("  where {} < {}\n", linear_text(constraint.expr, nest.indices),
                       constraint.bound);
  out += "  out " + operand_text(nest.out, nest.indices);
  for (const Operand &extra : nest.extras)
    out += "  extra " + operand_text(extra, nest.indices);
  return out + fmt::format("  post {}\n}}\n", program::to_text(nest.post));
}

Nest parse_nest(Scanner &scanner) {
  Nest nest = NestParser(scanner).parse();
  verify(nest);
  return nest;
}

Nest parse_nest(std::string_view text, const std::string &file) {
  Scanner scanner(text, file);
  Nest nest = parse_nest(scanner);
  if (!scanner.at_end())
    scanner.fail("the end of the nest");
  return nest;
}

} // namespace tilefuse::nest
