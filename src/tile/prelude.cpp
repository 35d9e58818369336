// SPDX-License-Identifier: Apache-2.0
#include "tile/prelude.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "tile/parser.h"

namespace tilefuse::tile {
namespace {

constexpr std::string_view kText = R"(
function ident(X) -> (Y) { Y = X; }
function cond(C, A, B) -> (Y) { Y = C ? A : B; }
function relu(X) -> (Y) { Y = max(X, 0); }
function sigmoid(X) -> (Y) { Y = 1/(1 + exp(-X)); }
function tan(X) -> (Y) { Y = sin(X)/cos(X); }
function sinh(X) -> (Y) { Y = (exp(X) - exp(-X))/2; }
function cosh(X) -> (Y) { Y = (exp(X) + exp(-X))/2; }

// O: probabilities, T: targets. S scales PlaidML's gradient and is no part of the value.
function binary_crossentropy(O, T) -> (Y) { Y = -T*log(O) - (1 - T)*log(1 - O); }
function builtin_binary_crossentropy(O, T, S) -> (Y) { Y = -T*log(O) - (1 - T)*log(1 - O); }

// Over the columns of a matrix; the maximum is taken off first, so that exp cannot overflow.
function softmax_rows(X[M, N]) -> (Y) {
  T[m, 0 : M, 1] = >(X[m, n]);
  E = exp(X - T);
  S[m, 0 : M, 1] = +(E[m, n]);
  Y = E/S;
}
function log_softmax_rows(X[M, N]) -> (Y) {
  T[m, 0 : M, 1] = >(X[m, n]);
  Z = X - T;
  E = exp(Z);
  S[m, 0 : M, 1] = +(E[m, n]);
  Y = Z - log(S);
}
)";

FunctionTable parse_prelude() {
  Diagnostics diagnostics(kText, "prelude.tile");
  FunctionTable table;
  for (ParsedFunction &parsed : parse_functions(kText, "prelude.tile", diagnostics)) {
    parsed.function.order = kPreludeOrder;
    const std::string name = parsed.function.name;
    table.emplace(name, std::move(parsed.function));
  }
  TILEFUSE_CHECK(diagnostics.empty(), "the prelude of Tile does not parse");
  return table;
}

} // namespace

const FunctionTable &prelude() {
  static const FunctionTable table = parse_prelude();
  return table;
}

bool is_pointwise(const Function &function) {
  return function.statements.size() == 1 &&
         std::holds_alternative<Expression>(function.statements[0].body);
}

} // namespace tilefuse::tile
