// SPDX-License-Identifier: Apache-2.0
#include "tile/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/words.h"
#include "tile/callee.h"

namespace tilefuse::tile {
namespace {

enum class SymbolKind { Tensor, Dimension, Attribute, Number, Unknown };

struct Symbol {
  SymbolKind kind = SymbolKind::Unknown;
  Position at;
  std::optional<std::size_t> rank; // of a tensor, where the text tells
};

constexpr auto kSymbolKinds = words<SymbolKind>({{SymbolKind::Tensor, "a tensor"},
                                                 {SymbolKind::Dimension, "a dimension"},
                                                 {SymbolKind::Attribute, "an attribute"},
                                                 {SymbolKind::Number, "a number"},
                                                 {SymbolKind::Unknown, "unknown"}});

std::string_view to_string(SymbolKind kind) { return kSymbolKinds[kind]; }

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool has_index(const Expression &e) {
  if (e.kind == Expression::Kind::Name)
    return is_lower_name(e.name);
  return std::any_of(e.args.begin(), e.args.end(), has_index);
}

class Checker {
public:
  Checker(const Function &function, const FunctionTable &known, const std::set<std::string> &below,
          Diagnostics &diagnostics)
      : function_(function), known_(known), below_(below), diagnostics_(diagnostics) {}

  void run() {
    for (const Parameter &parameter : function_.parameters)
      declare_parameter(parameter);
    for (const AttributeDeclaration &attribute : function_.attributes)
      declare(attribute.name, {SymbolKind::Attribute, attribute.at, {}});
    for (const Definition &statement : function_.statements)
      check_statement(statement);
    check_results();
  }

private:
  void report(Position at, std::string message) { diagnostics_.add(at, std::move(message)); }

  void declare(const std::string &name, Symbol symbol) {
    const auto [old, is_new] = symbols_.emplace(name, symbol);
    if (is_new || old->second.kind == SymbolKind::Unknown)
      return;
    const Position first = old->second.at;
    report(symbol.at, fmt::format("'{}' is defined already, as {} in line {}", name,
                                  to_string(old->second.kind), first.line));
  }

  void declare_parameter(const Parameter &parameter) {
    Symbol tensor{SymbolKind::Tensor, parameter.at, {}};
    if (parameter.dims) {
      tensor.rank = parameter.dims->size();
      check_rank(parameter.at, parameter.dims->size());
    }
    declare(parameter.name, tensor);
    if (!parameter.dims)
      return;
    for (const ParameterDim &dim : *parameter.dims) {
      const auto *name = std::get_if<std::string>(&dim);
      const auto old = name ? symbols_.find(*name) : symbols_.end();
      const bool again = old != symbols_.end() && old->second.kind == SymbolKind::Dimension;
      if (name && !again)
        declare(*name, {SymbolKind::Dimension, parameter.at, {}});
    }
  }

  void check_rank(Position at, std::size_t rank) {
    if (rank > kMaxRank)
      report(at, fmt::format("a tensor has at most {} dimensions, got {}", kMaxRank, rank));
  }

  void check_statement(const Definition &statement) {
    Symbol symbol{SymbolKind::Tensor, statement.at, {}};
    if (const auto *body = std::get_if<ContractionBody>(&statement.body)) {
      check_contraction(statement, *body);
      symbol.rank = body->sizes.size();
    } else if (!statement.others.empty()) {
      check_results_of_call(statement);
    } else if (const auto &value = std::get<Expression>(statement.body); is_number(value)) {
      check_number(value);
      symbol.kind = SymbolKind::Number;
    } else {
      check_value(value);
    }
    declare(statement.name, symbol);
    for (const Result &other : statement.others)
      declare(other.name, {SymbolKind::Tensor, other.at, {}});
  }

  // A, B = f(X);
  void check_results_of_call(const Definition &statement) {
    const auto &call = std::get<Expression>(statement.body);
    const bool is_call = call.kind == Expression::Kind::Call;
    const Callee callee = is_call ? resolve(known_, call.name, function_.order) : Callee{};
    const bool is_known = is_call && callee.kind != Callee::Kind::Unknown;
    if (!is_call || (is_known && callee.kind != Callee::Kind::Function))
      return report(call.at, "only a call of a Tile function has several results");
    check_function_call(call, callee, statement.others.size() + 1);
  }

  // Made of dimensions, attributes, numerals and operations on them alone.
  bool is_number(const Expression &e) const {
    using Kind = Expression::Kind;
    if (e.kind == Kind::Name) {
      const auto symbol = symbols_.find(e.name);
      return symbol != symbols_.end() && (symbol->second.kind == SymbolKind::Dimension ||
                                          symbol->second.kind == SymbolKind::Attribute ||
                                          symbol->second.kind == SymbolKind::Number);
    }
    if (e.kind == Kind::Call && !parse_scalar_op(e.name))
      return false;
    return std::all_of(e.args.begin(), e.args.end(),
                       [this](const Expression &arg) { return is_number(arg); });
  }

  void check_results() {
    std::set<std::string> seen;
    for (const Result &result : function_.results) {
      if (!seen.insert(result.name).second)
        report(result.at, fmt::format("result '{}' is named twice", result.name));
      const auto symbol = symbols_.find(result.name);
      if (!is_defined_by_statement(result.name))
        report(result.at, fmt::format("result '{}' is not defined by any statement", result.name));
      else if (symbol->second.kind == SymbolKind::Number)
        report(result.at, fmt::format("result '{}' is a number; fill({}) makes a tensor of it",
                                      result.name, result.name));
    }
  }

  bool is_defined_by_statement(const std::string &name) const {
    const auto defines = [&](const Definition &d) {
      return d.name == name || std::any_of(d.others.begin(), d.others.end(),
                                           [&](const Result &other) { return other.name == name; });
    };
    return std::any_of(function_.statements.begin(), function_.statements.end(), defines);
  }

  // The symbol of a name; an undefined one is reported once.
  Symbol &look_up(const std::string &name, Position at) {
    const auto [symbol, is_new] = symbols_.emplace(name, Symbol{SymbolKind::Unknown, at, {}});
    if (is_new)
      report(at, fmt::format("'{}' is not defined", name));
    return symbol->second;
  }

  void check_tensor(const std::string &name, Position at, std::optional<std::size_t> subscripts) {
    const Symbol &symbol = look_up(name, at);
    if (symbol.kind == SymbolKind::Unknown)
      return;
    if (symbol.kind != SymbolKind::Tensor)
      report(at, fmt::format("'{}' is {}; a tensor is needed here", name, to_string(symbol.kind)));
    else if (subscripts && symbol.rank && *symbol.rank != *subscripts)
      report(at, fmt::format("'{}' has {}, got {}", name, plural(*symbol.rank, "dimension"),
                             plural(*subscripts, "subscript")));
  }

  void check_contraction(const Definition &statement, const ContractionBody &body) {
    if (body.subscripts.size() != body.sizes.size())
      report(statement.at, fmt::format("{} but {}", plural(body.subscripts.size(), "subscript"),
                                       plural(body.sizes.size(), "size")));
    check_rank(statement.at, body.sizes.size());
    for (const Expression &subscript : body.subscripts)
      check_integer(subscript, true);
    for (const Expression &size : body.sizes)
      check_integer(size, false);
    for (const Reference &reference : body.in) {
      check_tensor(reference.tensor, reference.at, reference.subscripts.size());
      for (const Expression &subscript : reference.subscripts)
        check_subscript(subscript, body, &reference == &body.in.front());
    }
    for (const PolyConstraint &constraint : body.constraints) {
      check_integer(constraint.poly, true);
      check_integer(constraint.bound, false);
    }
    if (body.init)
      check_tensor(body.init->tensor, body.init->at, body.sizes.size());
  }

  // A subscript of an operand; that of the first may be an element of another tensor.
  void check_subscript(const Expression &e, const ContractionBody &body, bool is_first) {
    if (e.kind != Expression::Kind::Element)
      return check_integer(e, true);
    const bool picks = body.comb == program::Comb::None || body.comb == program::Comb::Mul;
    if (!is_first || !picks || body.agg != program::Agg::Sum)
      report(e.at,
             "only the first operand of a sum, or of a sum of products, is read where another "
             "tensor says");
    check_tensor(e.name, e.at, e.args.size());
    for (const Expression &arg : e.args)
      check_integer(arg, true);
  }

  // A subscript, a size or a bound.
  void check_integer(const Expression &e, bool indices) {
    using Kind = Expression::Kind;
    if (e.kind == Kind::Integer)
      return;
    if (e.kind == Kind::Name)
      return check_integer_name(e, indices);
    if (e.kind == Kind::Call && is_integer_function(e.name))
      return check_integer_call(e);
    const bool arithmetic =
        e.kind == Kind::Operation &&
        (e.op == ScalarOp::Neg || e.op == ScalarOp::Add || e.op == ScalarOp::Sub ||
         e.op == ScalarOp::Mul || e.op == ScalarOp::Div);
    if (!arithmetic)
      return report(e.at, "only integers under + - * / min max mod abs are possible here");
    if (e.op == ScalarOp::Mul && has_index(e.args[0]) && has_index(e.args[1]))
      report(e.at, "a subscript cannot hold a product of indices");
    if (e.op == ScalarOp::Div && has_index(e.args[1]))
      report(e.at, "a subscript cannot be divided by an index");
    for (const Expression &arg : e.args)
      check_integer(arg, indices);
  }

  // min, max, mod or abs of dimensions, attributes and numerals.
  void check_integer_call(const Expression &e) {
    check_argument_count(e, static_cast<std::size_t>(row(*parse_scalar_op(e.name)).arity));
    for (const Expression &arg : e.args)
      check_integer(arg, false);
  }

  void check_integer_name(const Expression &e, bool indices) {
    if (is_lower_name(e.name)) {
      if (!indices)
        report(e.at, fmt::format("index '{}' cannot stand here; a size is made of dimensions, "
                                 "attributes and numerals",
                                 e.name));
      return;
    }
    check_scalar_name(e);
  }

  void check_scalar_name(const Expression &e) {
    if (look_up(e.name, e.at).kind == SymbolKind::Tensor)
      report(e.at, fmt::format("'{}' is a tensor; a dimension, an attribute or "
                               "a numeral is needed "
                               "here",
                               e.name));
  }

  // A number: no tensors, no calls but pointwise built-ins.
  void check_number(const Expression &e) {
    using Kind = Expression::Kind;
    if (e.kind == Kind::Name) {
      if (is_lower_name(e.name))
        return report_index(e);
      return check_scalar_name(e);
    }
    if (e.kind == Kind::Call) {
      const std::optional<ScalarOp> op = parse_scalar_op(e.name);
      if (!op)
        return report(e.at, fmt::format("'{}' does not give a number", e.name));
      check_argument_count(e, static_cast<std::size_t>(row(*op).arity));
    }
    for (const Expression &arg : e.args)
      check_number(arg);
  }

  void check_value(const Expression &e) {
    using Kind = Expression::Kind;
    if (e.kind == Kind::Name) {
      if (is_lower_name(e.name))
        return report_index(e);
      look_up(e.name, e.at);
      return;
    }
    if (e.kind == Kind::Call)
      return check_call(e);
    for (const Expression &arg : e.args)
      check_value(arg);
  }

  void report_index(const Expression &e) {
    report(e.at,
           fmt::format("'{}' is no tensor or number; an index stands between [ ] only", e.name));
  }

  void check_call(const Expression &e) {
    const Callee callee = resolve(known_, e.name, function_.order);
    if (callee.kind == Callee::Kind::Builtin)
      return check_builtin(e, *callee.builtin);
    if (callee.kind == Callee::Kind::Scalar)
      check_argument_count(e, static_cast<std::size_t>(row(callee.op).arity));
    else if (callee.kind == Callee::Kind::Cast)
      check_argument_count(e, 1);
    else
      return check_function_call(e, callee, 1);
    for (const Expression &arg : e.args)
      check_value(arg);
  }

  void check_argument_count(const Expression &e, std::size_t needed) {
    if (!e.attributes.empty())
      report(e.at, fmt::format("'{}' takes no attributes", e.name));
    else if (e.args.size() != needed)
      report(e.at, fmt::format("'{}' takes {}, got {}", e.name, plural(needed, "argument"),
                               e.args.size()));
  }

  void check_builtin(const Expression &e, const BuiltinRow &builtin) {
    const std::size_t fixed = builtin.arguments.size();
    const bool counts = builtin.sizes ? e.args.size() >= fixed : e.args.size() == fixed;
    if (!counts || !e.attributes.empty())
      return report(e.at, fmt::format("'{}' is used as {}", e.name, builtin.usage));
    check_rank(e.at, e.args.size() - fixed);
    for (std::size_t i = 0; i < e.args.size(); ++i)
      check_argument(e.args[i], i < fixed ? builtin.arguments[i] : 'i');
  }

  // `form` is a letter of BuiltinRow::arguments.
  void check_argument(const Expression &arg, char form) {
    if (form == 'v')
      check_value(arg);
    else if (form == 'n')
      check_number(arg);
    else if (form == 'i')
      check_integer(arg, false);
    else if (arg.kind == Expression::Kind::Name && is_upper_name(arg.name))
      check_tensor(arg.name, arg.at, std::nullopt);
    else
      report(arg.at, "the name of a tensor is needed here");
  }

  // `results`: how many names the call's results are given.
  void check_function_call(const Expression &e, const Callee &callee, std::size_t results) {
    const std::size_t tensors = e.args.size() - e.attributes.size();
    for (std::size_t i = 0; i < e.args.size(); ++i)
      i < tensors ? check_value(e.args[i]) : check_number(e.args[i]);
    if (callee.function)
      return check_signature(e, *callee.function, results);
    if (e.name == function_.name)
      return report(e.at, fmt::format("'{}' calls itself; functions cannot recur", e.name));
    if (below_.count(e.name) != 0)
      return report(e.at, fmt::format("'{}' is defined further down; a function stands above "
                                      "its calls, so that none recurs",
                                      e.name));
    const std::string_view why = refusal(e.name);
    report(e.at, why.empty() ? fmt::format("there is no function '{}'", e.name)
                             : fmt::format("'{}' is not supported: {}", e.name, why));
  }

  void check_signature(const Expression &e, const Function &callee, std::size_t results) {
    if (callee.results.empty())
      return; // its header is broken, and that was reported
    const std::size_t tensors = e.args.size() - e.attributes.size();
    if (tensors != callee.parameters.size())
      report(e.at, fmt::format("'{}' takes {}, got {}", e.name,
                               plural(callee.parameters.size(), "tensor"), tensors));
    if (callee.results.size() != results)
      report(e.at,
             fmt::format("'{}' has {}; {} {}", e.name, plural(callee.results.size(), "result"),
                         results == 1 ? "an expression needs" : "the names are", results));
    std::set<std::string> given;
    for (const std::string &name : e.attributes) {
      const bool known = std::any_of(callee.attributes.begin(), callee.attributes.end(),
                                     [&](const AttributeDeclaration &a) { return a.name == name; });
      if (!known)
        report(e.at, fmt::format("'{}' has no attribute '{}'", e.name, name));
      if (!given.insert(name).second)
        report(e.at, fmt::format("attribute '{}' is given twice", name));
    }
    for (const AttributeDeclaration &attribute : callee.attributes)
      if (!attribute.value && given.count(attribute.name) == 0)
        report(e.at, fmt::format("'{}' needs attribute '{}'", e.name, attribute.name));
  }

  const Function &function_;
  const FunctionTable &known_;
  const std::set<std::string> &below_;
  Diagnostics &diagnostics_;
  std::map<std::string, Symbol> symbols_;
};

} // namespace

void check_function(const Function &function, const FunctionTable &known,
                    const std::set<std::string> &below, Diagnostics &diagnostics) {
  Checker(function, known, below, diagnostics).run();
}

} // namespace tilefuse::tile
