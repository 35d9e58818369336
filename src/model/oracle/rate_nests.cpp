// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/rate_nests.h"

#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/oracle/check.h"
#include "model/oracle/nest_maker.h"
#include "model/oracle/random_case.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

using nest::Nest;
using program::Expr;

constexpr int kTimedRuns = 5;
constexpr double kNearOne = 0.999; // what a chain is multiplied by, to stay in range

} // namespace

Nest map_nest(const std::string &name, const std::vector<DType> &types, std::int64_t points,
              const std::function<Expr(const std::vector<Expr> &)> &post) {
  Random plain(Tape{});
  NestMaker make(plain, name, types[0]);
  const int i = make.output("i", points);
  std::vector<Expr> operands;
  for (std::size_t k = 0; k < types.size(); ++k) {
    make.nest().extras.push_back(make.operand({make.whole(i)}, types[k]));
    operands.push_back(program::operand(static_cast<int>(k), types[k]));
  }
  make.nest().acc_type = types[0];
  make.nest().post = post(operands);
  make.out({make.whole(i)}, make.nest().post.type);
  return make.nest();
}

Nest product_nest(std::int64_t size, DType type) {
  Random plain(Tape{});
  NestMaker make(plain, "gemm", type);
  const int m = make.output("m", size);
  const int n = make.output("n", size);
  const int k = make.reduced("k", size);
  make.nest().agg = program::Agg::Sum;
  make.nest().comb = program::Comb::Mul;
  make.input({make.whole(m), make.whole(k)});
  make.input({make.whole(k), make.whole(n)}, true);
  make.out({make.whole(m), make.whole(n)}, type);
  return make.nest();
}

Nest copy_nest(std::int64_t elems) {
  return map_nest("copy", {DType::F32}, elems,
                  [](const std::vector<Expr> &args) { return args[0]; });
}

Nest window_nest(std::int64_t elems, std::int64_t window) {
  Random plain(Tape{});
  NestMaker make(plain, "window", DType::F32);
  const int i = make.output("i", elems);
  const int k = make.reduced("k", window);
  make.nest().agg = program::Agg::Max;
  make.nest().comb = program::Comb::None;
  make.input({{{{i, 1}, {k, 1}}, 0, elems + window - 1}});
  make.out({make.whole(i)}, DType::F32);
  return make.nest();
}

Nest chain_nest(std::int64_t elems, std::int64_t chains, int operations) {
  Random plain(Tape{});
  NestMaker make(plain, "chain", DType::F32);
  const int i = make.output("i", elems);
  const int k = make.reduced("k", chains);
  make.nest().agg = program::Agg::Sum;
  make.nest().comb = program::Comb::Term;
  make.input({make.whole(i)});
  make.input({make.whole(k)});
  Expr value = program::operand(1, DType::F32);
  for (int n = 0; n < operations; ++n)
    value = n % 2 == 0
                ? program::call(ScalarOp::Mul, {value, program::constant(kNearOne, DType::F32)})
                : program::call(ScalarOp::Add, {value, program::operand(0, DType::F32)});
  make.nest().term = value;
  make.out({make.whole(i)}, DType::F32);
  return make.nest();
}

double best_seconds(runtime::Device &device, const Nest &nest, const schedule::Schedule &schedule) {
  const KernelCase timed{
      .group = {nest}, .schedule = schedule, .target = device.target(), .values = Values::Reals};
  const Reference reference(timed, 1);
  const kernel::Kernel kernel = lower::lower({nest}, schedule, device.target());
  const std::vector<Package> built =
      device.build({make_emitter(device.target())->emit(kernel, device.target())});
  return time_built(reference, built[0], device, kTimedRuns);
}

double best_seconds(runtime::Device &device, const Nest &nest) {
  return best_seconds(device, nest, search::pick(nest, device.target()));
}

} // namespace tilefuse::model
