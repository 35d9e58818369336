// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/index.h"
#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/oracle/nest_maker.h"
#include "model/oracle/random_case.h"
#include "model/oracle/rate_nests.h"
#include "search/pick.h"
#include "target/dtype_traits.h"
#include "target/features.h"

namespace tilefuse::model {
namespace {

using nest::Nest;
using program::Expr;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPoints = 37; // no multiple of any vector
constexpr std::int64_t kLarge = 16 << 20;
constexpr std::int64_t kLargeSamples = 4096;
constexpr std::size_t kMostFaults = 10;
constexpr std::size_t kTapeLength = 64;
constexpr std::int64_t kProduct = 768; // rows, columns and depth of the timed product
constexpr int kSampledTogether = 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool takes_bool(ScalarOp op, int argument) {
  return op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not ||
         (op == ScalarOp::Select && argument == 0);
}

Nest op_nest(const ScalarOpRow &op) {
  const DType type = is_bitwise(op.op) ? DType::I32 : DType::F32;
  const std::vector<DType> types(static_cast<std::size_t>(op.arity), type);
  return map_nest("op_" + std::string(op.name), types, kPoints, [&](std::vector<Expr> args) {
    for (int k = 0; k < op.arity; ++k) {
      Expr &arg = args[at(k)];
      if (takes_bool(op.op, k))
        arg = program::call(ScalarOp::Gt, {arg, program::constant(0, DType::F32)});
    }
    return program::call(op.op, args);
  });
}

// Magnitudes, so that every type holds every value.
Nest cast_nest(DType from, DType to) {
  return map_nest(fmt::format("cast_{}_{}", to_string(from), to_string(to)), {from}, kPoints,
                  [&](const std::vector<Expr> &args) {
                    if (from == DType::Bool)
                      return program::cast(args[0], to);
                    return program::cast(program::call(ScalarOp::Abs, args), to);
                  });
}

NamedCase picked(const std::string &name, const Nest &nest, const Target &target, Values values) {
  NamedCase result{name, {.group = {nest}, .target = target, .values = values}};
  result.kernel_case.schedule = search::pick(nest, target);
  return result;
}

bool is_supported(DType type, const Target &target) { return type != DType::F64 || target.fp64; }

void add_conversions(const Target &target, std::vector<NamedCase> &cases) {
  for (const DTypeTraits &from : dtypes())
    for (const DTypeTraits &to : dtypes())
      if (to.type != DType::Bool && is_supported(from.type, target) &&
          is_supported(to.type, target))
        cases.push_back(picked(fmt::format("{} to {}", from.name, to.name),
                               cast_nest(from.type, to.type), target, Values::Integers));
}

// A device of a C-like language runs lanes of both kinds, whichever it prefers.
Target with_other_lanes(Target target) {
  target.lanes = target.lanes == LaneKind::Vector ? LaneKind::WorkItem : LaneKind::Vector;
  target.features = target.features.without({Feature::MatrixUnits, Feature::WarpgroupMatrix});
  target.max_group = std::max(target.max_group, 64);
  target.local_bytes = std::max<std::int64_t>(target.local_bytes, 16 << 10);
  return target;
}

KernelCase sampled_case(const Target &target, int number) {
  Random random(static_cast<std::uint64_t>(number));
  Tapes tapes;
  for (std::size_t i = 0; i < kTapeLength; ++i) {
    tapes.nest.push_back(static_cast<std::uint32_t>(random.next() >> 40));
    tapes.schedule.push_back(static_cast<std::uint32_t>(random.next() >> 40));
  }
  tapes.data = static_cast<std::uint32_t>(number);
  const bool other = has(target, Feature::EitherLanes) && number / 2 % 2 == 1;
  return draw_case(tapes, other ? with_other_lanes(target) : target);
}

class Run {
public:
  Run(runtime::Device &device, const ConformanceOptions &options)
      : device_(device), options_(options) {}

  ConformanceReport all() {
    const Target &target = device_.target();
    const std::vector<NamedCase> fixed = conformance_cases(target);
    check(fixed);
    report_.fixed = static_cast<int>(fixed.size());
    const Nest product = product_nest(kProduct, DType::F32);
    report_.gflops = nest::flops(product) / best_seconds(device_, product) * 1e-9;
    report_.gbytes_per_s =
        2.0 * kLarge * sizeof(float) / best_seconds(device_, copy_nest(kLarge)) * 1e-9;
    double batch = 0; // seconds of the last one
    while (seconds_since(start_) + batch < options_.seconds) {
      const Clock::time_point begin = Clock::now();
      std::vector<NamedCase> sampled;
      for (int i = 0; i < kSampledTogether; ++i) {
        const int number = ++report_.sampled;
        sampled.push_back({fmt::format("sample {}", number), sampled_case(target, number)});
      }
      check(sampled);
      batch = seconds_since(begin);
    }
    return std::move(report_);
  }

private:
  // Built together, which is much faster where a compiler runs in several processes.
  void check(const std::vector<NamedCase> &cases);
  std::vector<Package> built(const std::vector<NamedCase> &cases);
  // Error{Limit} where the driver refuses it.
  std::optional<Divergence> divergence(const NamedCase &named, const Package *built);

  runtime::Device &device_;
  const ConformanceOptions &options_;
  Clock::time_point start_ = Clock::now();
  ConformanceReport report_;
};

void Run::check(const std::vector<NamedCase> &cases) {
  const std::vector<Package> packages = built(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (options_.progress)
      options_.progress(
          std::min(1000, static_cast<int>(1000 * seconds_since(start_) / options_.seconds)), 1000);
    try {
      const auto wrong = divergence(cases[i], packages.empty() ? nullptr : &packages[i]);
      if (wrong && report_.faults.size() < kMostFaults)
        report_.faults.push_back({cases[i].name, *wrong, cases[i].kernel_case});
    } catch (const Error &error) {
      report_.refusals.push_back({cases[i].name, error.message()});
    }
  }
}

// Nothing when one of them cannot be built: then each is tried alone.
std::vector<Package> Run::built(const std::vector<NamedCase> &cases) {
  try {
    std::vector<Package> packages;
    for (const NamedCase &named : cases) {
      const KernelCase &from = named.kernel_case;
      const kernel::Kernel kernel = lower::lower(from.group, from.schedule, from.target);
      packages.push_back(make_emitter(from.target)->emit(kernel, from.target));
    }
    return device_.build(std::move(packages));
  } catch (const Error &) {
    return {};
  }
}

std::optional<Divergence> Run::divergence(const NamedCase &named, const Package *built) {
  const Reference reference(named.kernel_case, named.samples);
  try {
    return built ? check_built(reference, *built, device_) : check_on_device(reference, device_);
  } catch (const Error &error) {
    if (error.code() == ErrorCode::Limit)
      throw;
    return Divergence{"on " + device_.name(), error.what()};
  }
}

} // namespace

std::vector<NamedCase> conformance_cases(const Target &target) {
  std::vector<NamedCase> cases;
  for (int op = 0; op <= static_cast<int>(ScalarOp::Select); ++op) {
    const ScalarOpRow &scalar = row(static_cast<ScalarOp>(op));
    const Values values = is_bitwise(scalar.op) ? Values::Integers : Values::Reals;
    cases.push_back(
        picked("operation " + std::string(scalar.name), op_nest(scalar), target, values));
  }
  add_conversions(target, cases);
  cases.push_back(
      picked("matrix product", product_nest(kPoints, DType::F32), target, Values::Integers));
  cases.push_back(picked("large buffer", copy_nest(kLarge), target, Values::Reals));
  cases.back().samples = kLargeSamples;
  return cases;
}

ConformanceReport run_conformance(runtime::Device &device, const ConformanceOptions &options) {
  return Run(device, options).all();
}

} // namespace tilefuse::model
