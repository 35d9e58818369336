// SPDX-License-Identifier: Apache-2.0
#include "tile/parser.h"

#include <utility>

#include <fmt/format.h>

namespace tilefuse::tile {
namespace {

std::optional<program::Agg> parse_agg(Cursor &cursor) {
  using program::Agg;
  static constexpr std::pair<std::string_view, Agg> kAggs[] = {
      {"+", Agg::Sum}, {"*", Agg::Product}, {">", Agg::Max}, {"<", Agg::Min}, {"=", Agg::Assign}};
  for (const auto &[text, agg] : kAggs)
    if (cursor.accept(text))
      return agg;
  return std::nullopt;
}

class Parser {
public:
  Parser(const std::vector<Token> &tokens, std::string file, Diagnostics &diagnostics)
      : cursor_(tokens), file_(std::move(file)), diagnostics_(diagnostics),
        expressions_(cursor_, diagnostics) {}

  std::vector<ParsedFunction> file() {
    std::vector<ParsedFunction> functions;
    while (!cursor_.at_end()) {
      if (!cursor_.is("function")) {
        unexpected("'function'");
        skip_to_function();
        continue;
      }
      ParsedFunction parsed;
      const std::size_t before = diagnostics_.size();
      const bool header = function_header(parsed.function);
      if (header)
        function_body(parsed.function);
      parsed.complete = diagnostics_.size() == before;
      if (!header)
        skip_to_function();
      if (!parsed.function.name.empty())
        functions.push_back(std::move(parsed));
    }
    return functions;
  }

private:
  bool unexpected(std::string_view expected) {
    diagnostics_.add(cursor_.at(),
                     fmt::format("expected {}, got {}", expected, shown(cursor_.peek())));
    return false;
  }

  bool expect(std::string_view text) {
    return cursor_.accept(text) || unexpected(fmt::format("'{}'", text));
  }

  // At least one token further, at the next `function` or the end.
  void skip_to_function() {
    do
      cursor_.next();
    while (!cursor_.at_end() && !cursor_.is("function"));
  }

  // Past the next `;`, or at `}`, `function` or the end.
  void skip_statement() {
    while (!cursor_.at_end() && !cursor_.is("}") && !cursor_.is("function"))
      if (cursor_.next().text == ";")
        return;
  }

  bool upper_name(std::string_view what, std::string &name, Position &at) {
    at = cursor_.at();
    if (cursor_.peek().kind != TokenKind::Name || !is_upper_name(cursor_.peek().text))
      return unexpected(fmt::format("{} (it starts with A-Z)", what));
    name = spelled(cursor_.next());
    return true;
  }

  bool lower_name(std::string_view what, std::string &name) {
    if (cursor_.peek().kind != TokenKind::Name || !is_lower_name(cursor_.peek().text))
      return unexpected(fmt::format("{} (it starts with a-z)", what));
    name = spelled(cursor_.next());
    return true;
  }

  bool function_header(Function &function) {
    cursor_.next();
    function.file = file_;
    function.at = cursor_.at();
    if (cursor_.is("("))
      function.name = "main";
    else if (!lower_name("the function's name", function.name))
      return false;
    return expect("(") && parameters(function) && attributes(function) && expect(")") &&
           expect("->") && expect("(") && results(function) && expect(")") && expect("{");
  }

  bool parameters(Function &function) {
    if (cursor_.is(")") || cursor_.is(";"))
      return true;
    do {
      Parameter parameter;
      parameter.type = parse_dtype(cursor_.peek().text);
      if (parameter.type)
        cursor_.next();
      if (!upper_name("a tensor", parameter.name, parameter.at))
        return false;
      if (cursor_.accept("[") && !parameter_dims(parameter))
        return false;
      function.parameters.push_back(std::move(parameter));
    } while (cursor_.accept(","));
    return true;
  }

  bool parameter_dims(Parameter &parameter) {
    parameter.dims.emplace();
    if (cursor_.accept("]"))
      return true;
    do {
      if (cursor_.peek().kind == TokenKind::Integer) {
        const std::optional<Expression> size = expressions_.sum();
        if (!size || size->kind != Expression::Kind::Integer)
          return size ? unexpected("',' or ']'") : false;
        parameter.dims->emplace_back(size->integer);
        continue;
      }
      std::string name;
      Position at;
      if (!upper_name("a dimension", name, at))
        return false;
      parameter.dims->emplace_back(std::move(name));
    } while (cursor_.accept(","));
    return expect("]");
  }

  bool attributes(Function &function) {
    if (!cursor_.accept(";"))
      return true;
    do {
      AttributeDeclaration attribute;
      if (!upper_name("an attribute", attribute.name, attribute.at))
        return false;
      if (cursor_.accept("=") && !attribute_default(attribute))
        return false;
      function.attributes.push_back(std::move(attribute));
    } while (cursor_.accept(","));
    return true;
  }

  bool attribute_default(AttributeDeclaration &attribute) {
    const bool negative = cursor_.accept("-");
    const TokenKind kind = cursor_.peek().kind;
    if (kind != TokenKind::Integer && kind != TokenKind::Float)
      return unexpected("a number");
    const std::optional<Expression> value = expressions_.sum();
    if (!value)
      return false;
    if (value->kind == Expression::Kind::Integer)
      attribute.value = negative ? -value->integer : value->integer;
    else if (value->kind == Expression::Kind::Number)
      attribute.value = negative ? -value->number : value->number;
    else
      return unexpected("a default that is one number");
    return true;
  }

  bool results(Function &function) {
    do {
      Result result;
      if (!upper_name("a result", result.name, result.at))
        return false;
      function.results.push_back(std::move(result));
    } while (cursor_.accept(","));
    return true;
  }

  void function_body(Function &function) {
    while (!cursor_.is("}")) {
      if (cursor_.at_end() || cursor_.is("function")) {
        unexpected("'}' at the end of the function");
        return;
      }
      Definition definition;
      if (statement(definition))
        function.statements.push_back(std::move(definition));
      else
        skip_statement();
    }
    cursor_.next();
  }

  bool statement(Definition &definition) {
    while (cursor_.is("[") && cursor_.peek(1).text == "[")
      if (!statement_attribute(definition.attributes.emplace_back()))
        return false;
    if (!upper_name("a statement that defines a tensor", definition.name, definition.at))
      return false;
    if (cursor_.is(","))
      return further_results(definition);
    if (cursor_.accept("["))
      return contraction(definition.body.emplace<ContractionBody>()) && expect(";");
    return cursor_.accept("=") ? value(definition) : unexpected("'=' or '['");
  }

  bool value(Definition &definition) {
    std::optional<Expression> value = expressions_.expression();
    if (!value)
      return false;
    definition.body = std::move(*value);
    return expect(";");
  }

  // "[[" name ["(" name {"," name} ")"] "]]"
  bool statement_attribute(StatementAttribute &attribute) {
    cursor_.next();
    cursor_.next();
    if (!lower_name("the name of a statement's attribute", attribute.name))
      return false;
    if (cursor_.accept("(")) {
      do {
        if (!lower_name("a parameter of the attribute", attribute.parameters.emplace_back()))
          return false;
      } while (cursor_.accept(","));
      if (!expect(")"))
        return false;
    }
    return expect("]") && expect("]");
  }

  bool further_results(Definition &definition) {
    while (cursor_.accept(",")) {
      Result &result = definition.others.emplace_back();
      if (!upper_name("a further result of the call", result.name, result.at))
        return false;
    }
    return expect("=") && value(definition);
  }

  bool sums(std::vector<Expression> &list) {
    do {
      std::optional<Expression> value = expressions_.sum();
      if (!value)
        return false;
      list.push_back(std::move(*value));
    } while (cursor_.accept(","));
    return true;
  }

  bool contraction(ContractionBody &body) {
    return result_subscripts(body) && aggregation(body) && operands(body) && constraints(body) &&
           clauses(body);
  }

  bool result_subscripts(ContractionBody &body) {
    if (cursor_.accept("]"))
      return true;
    if (!cursor_.is(":") && !sums(body.subscripts))
      return false;
    if (!cursor_.accept(":"))
      return unexpected("':' and the sizes of the result");
    if (body.subscripts.empty() && cursor_.accept("]"))
      return true;
    return sums(body.sizes) && expect("]");
  }

  bool aggregation(ContractionBody &body) {
    if (cursor_.accept("==")) {
      body.agg = program::Agg::Assign;
      return true;
    }
    if (!expect("="))
      return false;
    const std::optional<program::Agg> agg = parse_agg(cursor_);
    if (!agg)
      return unexpected("one of the aggregations + * > < =");
    body.agg = *agg;
    return true;
  }

  bool operands(ContractionBody &body) {
    using program::Comb;
    if (!expect("(") || !reference(body.in.emplace_back()))
      return false;
    for (const auto &[sign, comb] :
         {std::pair("*", Comb::Mul), std::pair("+", Comb::Add), std::pair("==", Comb::Equal)})
      if (body.comb == Comb::None && cursor_.accept(sign))
        body.comb = comb;
    if (body.comb == Comb::None)
      return cursor_.accept(")") || unexpected("'*', '+', '==' or ')'");
    if (!reference(body.in.emplace_back()))
      return false;
    if (body.comb == Comb::Equal && cursor_.accept("?")) {
      body.comb = Comb::Select;
      if (!reference(body.in.emplace_back()))
        return false;
    }
    return cursor_.accept(")") || unexpected(body.comb == Comb::Equal ? "'?' or ')'" : "')'");
  }

  bool reference(Reference &reference) {
    if (!upper_name("a tensor", reference.tensor, reference.at) || !expect("["))
      return false;
    if (cursor_.accept("]"))
      return true;
    do {
      if (!subscript(reference.subscripts.emplace_back()))
        return false;
    } while (cursor_.accept(","));
    return expect("]");
  }

  // A sum, or an element of a tensor that says which: J[e].
  bool subscript(Expression &result) {
    const bool is_element = cursor_.peek().kind == TokenKind::Name &&
                            is_upper_name(cursor_.peek().text) && cursor_.peek(1).text == "[";
    if (!is_element) {
      std::optional<Expression> value = expressions_.sum();
      if (value)
        result = std::move(*value);
      return value.has_value();
    }
    result.kind = Expression::Kind::Element;
    if (!upper_name("a tensor", result.name, result.at) || !expect("["))
      return false;
    if (cursor_.accept("]"))
      return true;
    if (!sums(result.args))
      return false;
    for (const Expression &arg : result.args)
      result.depth = std::max(result.depth, arg.depth + 1);
    return expect("]");
  }

  bool constraints(ContractionBody &body) {
    while (cursor_.accept(",")) {
      std::optional<Expression> poly = expressions_.sum();
      if (!poly || !expect("<"))
        return false;
      std::optional<Expression> bound = expressions_.sum();
      if (!bound)
        return false;
      body.constraints.push_back({std::move(*poly), std::move(*bound)});
    }
    return true;
  }

  // In any order, one default at most.
  bool clauses(ContractionBody &body) {
    for (;;) {
      if (cursor_.accept("no_defract")) {
        body.no_defract = true;
      } else if (!body.init && cursor_.accept("default")) {
        Reference &init = body.init.emplace();
        if (!upper_name("a tensor", init.tensor, init.at))
          return false;
      } else {
        return true;
      }
    }
  }

  Cursor cursor_;
  std::string file_;
  Diagnostics &diagnostics_;
  ExpressionParser expressions_;
};

} // namespace

std::vector<ParsedFunction> parse_functions(std::string_view text, const std::string &file,
                                            Diagnostics &diagnostics) {
  const std::vector<Token> tokens = tokenize(text, file, diagnostics);
  return Parser(tokens, file, diagnostics).file();
}

} // namespace tilefuse::tile
