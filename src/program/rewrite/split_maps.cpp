// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/split_maps.h"

#include <algorithm>

namespace tilefuse::program {
namespace {

bool is_leaf(const Expr &expr) { return expr.args.empty(); }

// Splits one map into statements that end with a smaller one.
class Splitter {
public:
  Splitter(Program &program, const Statement &statement, std::vector<Statement> &into)
      : program_(program), statement_(statement), map_(std::get<Map>(statement.body)), into_(into) {
  }

  void run() {
    map_.expr = shorten(map_.expr);
    into_.push_back({statement_.out, map_, statement_.origin});
  }

private:
  // The same value in few nodes: the largest arguments become tensors until it is.
  Expr shorten(Expr expr) {
    for (Expr &arg : expr.args)
      arg = shorten(std::move(arg));
    while (count_nodes(expr) > kMaxMapNodes) {
      Expr &largest =
          *std::max_element(expr.args.begin(), expr.args.end(), [](const Expr &a, const Expr &b) {
            return count_nodes(a) < count_nodes(b);
          });
      if (is_leaf(largest))
        break;
      largest = make_tensor(largest);
    }
    return expr;
  }

  Expr make_tensor(const Expr &expr) {
    const Tensor result = program_[statement_.out];
    const TensorId id =
        program_.add({.name = result.name, .type = expr.type, .shape = result.shape});
    into_.push_back({id, Map{expr, map_.operands}, statement_.origin});
    map_.operands.push_back(id);
    return operand(static_cast<int>(map_.operands.size()) - 1, expr.type);
  }

  Program &program_;
  const Statement &statement_;
  Map map_;
  std::vector<Statement> &into_;
};

} // namespace

int count_nodes(const Expr &expr) {
  int count = 1;
  for (const Expr &arg : expr.args)
    count += count_nodes(arg);
  return count;
}

Program split_maps(Program program) {
  std::vector<Statement> statements;
  for (const Statement &statement : program.statements) {
    const auto *map = std::get_if<Map>(&statement.body);
    if (map != nullptr && count_nodes(map->expr) > kMaxMapNodes)
      Splitter(program, statement, statements).run();
    else
      statements.push_back(statement);
  }
  program.statements = std::move(statements);
  return program;
}

} // namespace tilefuse::program
