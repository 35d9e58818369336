// SPDX-License-Identifier: Apache-2.0
// Every scalar operation and every conversion as machine code, for scalars and vectors, against
// evaluate() and the element conversions of target/dtype.h; elementary functions against the C
// library in double precision.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "emit/llvm/llvm_module.h"
#include "emit/llvm_harness.h"
#include "kernel/simulate.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::BufferId;
using kernel::Builder;
using kernel::ExprRef;
using kernel::Kernel;
using kernel::Space;

constexpr int kElems = 48; // a multiple of every lane count in use

using Combine = std::function<ExprRef(Builder &, std::vector<ExprRef>)>;

// out[i] = combine(in0[i], …), `lanes` at a time.
Kernel pointwise(const std::vector<DType> &inputs, DType output, int lanes, std::int64_t elems,
                 const Combine &combine) {
  Kernel k;
  k.name = "pointwise";
  Builder b(k);
  std::vector<BufferId> buffers;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    buffers.push_back(b.buffer({"in" + std::to_string(i), Space::Global, {inputs[i], 1}, elems}));
  const BufferId out = b.buffer({"out", Space::Global, {output, 1}, elems, true});
  const auto i = b.variable("i", {DType::I32, 1});
  std::vector<ExprRef> loads;
  for (BufferId buffer : buffers)
    loads.push_back(b.load(buffer, b.var(i), lanes));
  const auto body = b.store(out, b.var(i), combine(b, loads));
  k.body = b.loop(i, kernel::ForKind::Serial, b.integer(0), b.integer(elems), lanes, body);
  return k;
}

std::vector<double> samples(DType type, int shift) {
  std::vector<double> from;
  if (type == DType::Bool)
    from = {0, 1, 1, 0, 1};
  else if (type == DType::U8)
    from = {0, 1, 2, 3, 7, 100, 128, 255, 254};
  else if (type == DType::I8)
    from = {0, 1, -1, 2, -3, 7, 100, -128, 127};
  else if (!traits(type).is_signed)
    from = {0, 1, 2, 3, 7, 100, 128, 255, 65535};
  else if (!is_float(type))
    from = {0, 1, -1, 2, -3, 7, 1000, -12345, 30000, -30000};
  else
    from = {0.0,  -0.0, 0.5, 1.5, 2.5, -0.5,     -1.5,      3.25,         -7.75, 100.125,
            1e-3, -42,  1,   2,   0.1, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e30};
  std::vector<double> values;
  for (int i = 0; i < kElems; ++i)
    values.push_back(from[static_cast<std::size_t>(i * shift + shift / 2) % from.size()]);
  return values;
}

std::vector<std::byte> pack(DType type, const std::vector<double> &values) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(size_bytes(type)));
  for (std::size_t i = 0; i < values.size(); ++i)
    store_element(bytes.data(), type, static_cast<std::int64_t>(i), values[i]);
  return bytes;
}

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Operations whose result is defined to the last bit for a type.
bool is_exact(ScalarOp op, DType type) {
  const bool elementary = op == ScalarOp::Exp || op == ScalarOp::Log || op == ScalarOp::Tanh ||
                          op == ScalarOp::Erf || op == ScalarOp::Sin || op == ScalarOp::Cos ||
                          op == ScalarOp::Pow;
  return !elementary || type == DType::F64;
}

bool applies(ScalarOp op, DType type) {
  if (op == ScalarOp::Select)
    return true;
  if (rounded_type(op))
    return type == DType::F32;
  if (op == ScalarOp::Coarse)
    return is_float(type);
  const bool logic = op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not;
  if (row(op).is_comparison)
    return !logic || type == DType::Bool;
  if (is_bitwise(op))
    return !is_float(type) && type != DType::Bool;
  const bool real_only = op == ScalarOp::Sqrt || op == ScalarOp::Pow || !is_exact(op, DType::F32);
  if (type == DType::Bool)
    return false;
  return is_float(type) || !real_only;
}

// What the operation gives in the type's own arithmetic: integers wrap, floats round.
double expected(ScalarOp op, DType type, const std::vector<double> &args) {
  if (is_bitwise(op))
    return number_of(evaluate_bits(op, type, static_cast<std::int64_t>(args.front()),
                                   static_cast<std::int64_t>(args.back())),
                     type);
  const double exact = evaluate(op, args, !is_float(type));
  if (row(op).is_comparison)
    return exact;
  std::byte bytes[8];
  if (is_float(type)) {
    store_element(bytes, type, 0, exact);
    return load_element(bytes, type, 0);
  }
  const auto wide = static_cast<std::int64_t>(exact);
  switch (type) {
  case DType::I8:
    return static_cast<std::int8_t>(wide);
  case DType::U8:
    return static_cast<std::uint8_t>(wide);
  case DType::I16:
    return static_cast<std::int16_t>(wide);
  case DType::I32:
    return static_cast<std::int32_t>(wide);
  case DType::U16:
    return static_cast<std::uint16_t>(wide);
  case DType::U32:
    return static_cast<std::uint32_t>(wide);
  case DType::U64:
    return static_cast<double>(static_cast<std::uint64_t>(wide));
  default:
    return static_cast<double>(wide);
  }
}

void check_op(ScalarOp op, DType type, int lanes) {
  const int arity = row(op).arity;
  std::vector<DType> inputs(static_cast<std::size_t>(arity), type);
  if (op == ScalarOp::Select)
    inputs[0] = DType::Bool;
  const DType output = row(op).is_comparison ? DType::Bool : type;
  Compiled compiled(pointwise(inputs, output, lanes, kElems,
                              [&](Builder &b, auto args) { return b.scalar(op, args); }));
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::byte>> memory;
  std::vector<void *> args;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(samples(inputs[i], static_cast<int>(2 * i + 1)));
    memory.push_back(pack(inputs[i], values.back()));
  }
  for (auto &bytes : memory)
    args.push_back(bytes.data());
  std::vector<std::byte> out(kElems * static_cast<std::size_t>(size_bytes(output)));
  args.push_back(out.data());
  compiled.run(args);
  for (int i = 0; i < kElems; ++i) {
    std::vector<double> at;
    for (std::size_t j = 0; j < inputs.size(); ++j)
      at.push_back(load_element(memory[j].data(), inputs[j], i));
    const double want = expected(op, type, at);
    const double got = load_element(out.data(), output, i);
    const bool close = std::fabs(got - want) <= 2e-6 * std::fabs(want);
    EXPECT_TRUE(same_bits(got, want) || (!is_exact(op, type) && close))
        << row(op).name << ' ' << to_string(type) << 'x' << lanes << " of " << at[0] << ", "
        << at.back() << ": got " << got << ", want " << want;
  }
}

TEST(LlvmOps, EveryOperationOnEveryType) {
  for (int id = 0; id <= static_cast<int>(ScalarOp::Select); ++id) {
    const auto op = static_cast<ScalarOp>(id);
    for (DType type : {DType::Bool, DType::I8, DType::U8, DType::I16, DType::I32, DType::I64,
                       DType::F32, DType::F64, DType::U16, DType::U32, DType::U64}) {
      if (!applies(op, type))
        continue;
      for (int lanes : {1, 3, 8, 16})
        check_op(op, type, lanes);
    }
  }
}

TEST(LlvmOps, DivisionOfIntegersNeverTraps) {
  const std::vector<std::int32_t> a = {5, -5, std::numeric_limits<std::int32_t>::min(), 0};
  const std::vector<std::int32_t> b = {0, 0, -1, -1};
  for (ScalarOp op : {ScalarOp::Div, ScalarOp::Mod}) {
    Compiled compiled(
        pointwise({DType::I32, DType::I32}, DType::I32, 4, 4,
                  [&](Builder &builder, auto args) { return builder.scalar(op, args); }));
    std::vector<std::int32_t> out(4, 77);
    compiled.run(
        {const_cast<std::int32_t *>(a.data()), const_cast<std::int32_t *>(b.data()), out.data()});
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 0);
    EXPECT_EQ(out[2], op == ScalarOp::Div ? a[2] : 0);
    EXPECT_EQ(out[3], 0);
  }
}

double expected_cast(DType from, DType to, double value) {
  std::byte bytes[8];
  if (is_float(to) || to == DType::Bool) {
    store_element(bytes, to, 0, value);
  } else if (is_float(from)) {
    store_element(bytes, to, 0, std::trunc(value));
  } else {
    const auto wide = static_cast<std::int64_t>(value);
    std::memcpy(bytes, &wide, sizeof(wide)); // little-endian: the low bytes are the wrapped value
  }
  return load_element(bytes, to, 0);
}

TEST(LlvmOps, LongIntegersWithoutSignAreComparedAndDividedAsSuch) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> a = {kLarge, 3, kLarge + 5, 6}, b = {2, kLarge, 7, 4};
  const auto run = [&](ScalarOp op) {
    Compiled compiled(
        pointwise({DType::U64, DType::U64}, DType::U64, 4, 4,
                  [&](Builder &builder, auto args) { return builder.scalar(op, args); }));
    std::vector<std::uint64_t> out(4, 77);
    compiled.run({a.data(), b.data(), out.data()});
    return out;
  };
  EXPECT_EQ(run(ScalarOp::Max), (std::vector<std::uint64_t>{kLarge, kLarge, kLarge + 5, 6}));
  EXPECT_EQ(run(ScalarOp::Div), (std::vector<std::uint64_t>{kLarge / 2, 0, (kLarge + 5) / 7, 1}));
  EXPECT_EQ(run(ScalarOp::BitRight),
            (std::vector<std::uint64_t>{kLarge / 4, 3, (kLarge + 5) >> 7, 0}));
}

TEST(LlvmOps, EveryConversion) {
  const std::vector<DType> types = {DType::Bool, DType::I8,  DType::U8,   DType::I16, DType::I32,
                                    DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64,
                                    DType::U16,  DType::U32, DType::U64};
  for (DType from : types)
    for (DType to : types)
      for (int lanes : {1, 3, 8}) {
        Compiled compiled(pointwise({from}, to, lanes, kElems, [&](Builder &b, auto args) {
          return from == to ? args[0] : b.cast(args[0], to);
        }));
        std::vector<std::byte> in = pack(from, samples(from, 1));
        std::vector<std::byte> out(kElems * static_cast<std::size_t>(size_bytes(to)));
        compiled.run({in.data(), out.data()});
        for (int i = 0; i < kElems; ++i) {
          const double value = load_element(in.data(), from, i);
          if (size_bytes(to) == 8 && std::fabs(value) > 9e18)
            continue; // not exact as a double
          EXPECT_TRUE(same_bits(load_element(out.data(), to, i), expected_cast(from, to, value)))
              << to_string(from) << " to " << to_string(to) << 'x' << lanes << " of " << value
              << ": got " << load_element(out.data(), to, i);
        }
      }
}

using RoundedForm = std::function<ExprRef(Builder &, ExprRef)>;

// Numbers that are rounded, and what is done to them before they are cast.
std::vector<RoundedForm> rounded_forms() {
  const auto held = [](Builder &b, ExprRef x, double low, double high) {
    return b.scalar(ScalarOp::Min,
                    {b.scalar(ScalarOp::Max, {x, b.real(low, x->type)}), b.real(high, x->type)});
  };
  const auto by_sums = [](Builder &b, ExprRef x) {
    const ExprRef whole = b.real(0x1.8p23, x->type);
    return b.sub(b.add(x, whole), whole);
  };
  return {[](Builder &b, ExprRef x) { return b.scalar(ScalarOp::Round, {x}); },
          [](Builder &b, ExprRef x) {
            return b.add(b.scalar(ScalarOp::Round, {x}), b.real(12, x->type));
          },
          [=](Builder &b, ExprRef x) { return by_sums(b, held(b, x, -200, 300)); },
          [=](Builder &b, ExprRef x) { // from 0 on, as quantisation holds it
            return b.add(by_sums(b, held(b, x, -12, 90)), b.real(12, x->type));
          },
          [=](Builder &b, ExprRef x) {
            return b.add(by_sums(b, held(b, x, -5, 90)), b.real(12, x->type));
          }};
}

// What is rounded and cast at once gives what the simulator gives of each operation by itself.
TEST(LlvmOps, RoundedCastsAreWhatTheirPartsGive) {
  const std::vector<RoundedForm> forms = rounded_forms();
  for (const DType type : {DType::U8, DType::I8, DType::I16})
    for (const int lanes : {1, 2, 4, 8, 16})
      for (std::size_t form = 0; form < forms.size(); ++form) {
        const Kernel kernel =
            pointwise({DType::F32}, type, lanes, kElems,
                      [&](Builder &b, auto args) { return b.cast(forms[form](b, args[0]), type); });
        std::vector<std::byte> x = pack(DType::F32, samples(DType::F32, 5));
        const auto bytes = static_cast<std::size_t>(kElems * size_bytes(type));
        std::vector<std::byte> want(bytes), got(bytes);
        kernel::simulate(kernel, std::vector<std::span<std::byte>>{x, want});
        Compiled(kernel).run({x.data(), got.data()});
        EXPECT_EQ(got, want) << to_string(type) << 'x' << lanes << " form " << form;
      }
}

// `count` vectors of bytes side by side, the last first, and one apart, each what `form` makes of floats.
Kernel side_by_side(DType type, int lanes, int count, const RoundedForm &form) {
  Kernel kernel;
  kernel.name = "side_by_side";
  Builder b(kernel);
  const std::int64_t elems = lanes * (count + 2);
  const BufferId in = b.buffer({"in", Space::Global, {DType::F32, 1}, elems});
  const BufferId out = b.buffer({"out", Space::Global, {type, 1}, elems, true});
  std::vector<kernel::StmtRef> stores;
  for (int k = 0; k <= count; ++k) {
    const ExprRef at = b.integer((k == count ? count + 1 : count - 1 - k) * lanes);
    stores.push_back(b.store(out, at, b.cast(form(b, b.load(in, at, lanes)), type)));
  }
  kernel.body = b.block(std::move(stores));
  return kernel;
}

// They are stored together, and are what each is by itself.
TEST(LlvmOps, RoundedCastsSideBySideAreWhatEachGives) {
  const std::vector<double> numbers = samples(DType::F32, 5);
  for (const DType type : {DType::U8, DType::I8})
    for (const int lanes : {8, 16})
      for (const int count : {2, 3, 4, 5})
        for (const RoundedForm &form : rounded_forms()) {
          const Kernel kernel = side_by_side(type, lanes, count, form);
          std::vector<double> given;
          for (std::int64_t i = 0; i < kernel.buffers[0].elems; ++i)
            given.push_back(numbers[static_cast<std::size_t>(i) % numbers.size()]);
          std::vector<std::byte> x = pack(DType::F32, given);
          std::vector<std::byte> want(given.size()), got(given.size());
          kernel::simulate(kernel, std::vector<std::span<std::byte>>{x, want});
          Compiled(kernel).run({x.data(), got.data()});
          EXPECT_EQ(got, want) << to_string(type) << 'x' << lanes << " times " << count;
        }
  Target target = host_target();
  target.isa = "x86-64-v3";
  target.vector_f32 = 8;
  const Kernel kernel = side_by_side(DType::U8, 8, 4, rounded_forms().front());
  EXPECT_NE(llvm_assembly(kernel, target).find("vpackuswb"), std::string::npos);
}

TEST(LlvmOps, HalvesRoundToNearestEven) {
  for (DType to : {DType::F16, DType::BF16}) {
    std::vector<float> in;
    for (std::uint32_t bits = 0x33000000; bits < 0x47900000; bits += 0x7F1) {
      in.push_back(std::bit_cast<float>(bits));
      in.push_back(-in.back());
    }
    in.resize(in.size() / 8 * 8);
    const auto elems = static_cast<std::int64_t>(in.size());
    Compiled compiled(pointwise({DType::F32}, to, 8, elems,
                                [&](Builder &b, auto args) { return b.cast(args[0], to); }));
    std::vector<std::uint16_t> out(in.size());
    compiled.run({in.data(), out.data()});
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], to == DType::F16 ? float_to_half(in[i]) : float_to_bfloat(in[i])) << in[i];
  }
}

// Distance of `got` from `exact` in units of the last place of float.
double ulps(float got, double exact) {
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : HUGE_VAL;
  const auto rounded = static_cast<float>(exact);
  if (got == rounded)
    return 0;
  if (std::isinf(got) || std::isinf(rounded))
    return HUGE_VAL;
  const float size = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
  const double place =
      static_cast<double>(std::nextafter(size, HUGE_VALF)) - static_cast<double>(size);
  return std::fabs(static_cast<double>(got) - exact) / place;
}

// Every 997th float there is, with both signs, NaNs and infinities among them.
std::vector<float> sweep() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 997)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (float x = -104.5F; x < 90; x += 0.00053F)
    values.push_back(x);
  for (float x :
       {HUGE_VALF, -HUGE_VALF, 0.0F, -0.0F, 88.72283F, 88.7229F, -87.33655F, -103.97F, -104.0F})
    values.push_back(x);
  values.resize(values.size() / 16 * 16 + 16, std::nanf(""));
  return values;
}

double worst_ulps(ScalarOp op, int lanes, double (*exact)(double)) {
  std::vector<float> in = sweep();
  std::vector<float> out(in.size());
  Compiled compiled(pointwise({DType::F32}, DType::F32, lanes, static_cast<std::int64_t>(in.size()),
                              [&](Builder &b, auto args) { return b.scalar(op, args); }));
  compiled.run({in.data(), out.data()});
  double worst = 0;
  for (std::size_t i = 0; i < in.size(); ++i)
    worst = std::max(worst, ulps(out[i], exact(static_cast<double>(in[i]))));
  return worst;
}

TEST(LlvmMath, ExpIsWithinTwoUlps) {
  EXPECT_LE(worst_ulps(ScalarOp::Exp, 8, std::exp), 2.0);
  EXPECT_LE(worst_ulps(ScalarOp::Exp, 1, std::exp), 2.0);
}

TEST(LlvmMath, TanhIsWithinTwoUlps) { EXPECT_LE(worst_ulps(ScalarOp::Tanh, 8, std::tanh), 2.0); }

TEST(LlvmMath, LogarithmIsWithinTwoUlps) {
  EXPECT_LE(worst_ulps(ScalarOp::Log, 8, std::log), 2.0);
  EXPECT_LE(worst_ulps(ScalarOp::Log, 1, std::log), 2.0);
}

TEST(LlvmMath, ErrorFunctionIsWithinTwoUlps) {
  EXPECT_LE(worst_ulps(ScalarOp::Erf, 8, std::erf), 2.0);
}

TEST(LlvmMath, RootIsRounded) { EXPECT_LE(worst_ulps(ScalarOp::Sqrt, 8, std::sqrt), 0.51); }

// Powers of every 99991st float by exponents of all kinds, and all pairs of special numbers.
TEST(LlvmMath, PowerIsRounded) {
  std::vector<float> special = {0.0F,       -0.0F,         1.0F,        -1.0F,       HUGE_VALF,
                                -HUGE_VALF, std::nanf(""), 0.5F,        -0.5F,       2.0F,
                                -2.0F,      3.0F,          -3.0F,       0.75F,       1e-40F,
                                -7.5F,      1e9F,          16777217.0F, 33554432.0F, 88.7F};
  std::vector<float> bases = special;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 99991)
    bases.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  bases.resize(bases.size() / 16 * 16 + 16, 1.5F);
  std::vector<float> out(bases.size());
  Compiled compiled(pointwise({DType::F32, DType::F32}, DType::F32, 16,
                              static_cast<std::int64_t>(bases.size()),
                              [](Builder &b, auto args) { return b.scalar(ScalarOp::Pow, args); }));
  double worst = 0;
  for (const float exponent : special) {
    std::vector<float> exponents(bases.size(), exponent);
    compiled.run({bases.data(), exponents.data(), out.data()});
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const double exact = std::pow(static_cast<double>(bases[i]), static_cast<double>(exponent));
      worst = std::max(worst, ulps(out[i], exact));
      EXPECT_TRUE(std::isnan(exact) || std::signbit(out[i]) == std::signbit(exact))
          << bases[i] << " to the power " << exponent;
    }
  }
  EXPECT_LE(worst, 0.51);
}

TEST(LlvmMath, ExactPoints) {
  std::vector<float> in = {0, -0.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 0, 0, 0};
  std::vector<float> out(8);
  const auto apply = [&](ScalarOp op) {
    Compiled(pointwise({DType::F32}, DType::F32, 8, 8, [&](Builder &b, auto args) {
      return b.scalar(op, args);
    })).run({in.data(), out.data()});
  };
  apply(ScalarOp::Exp);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[2], HUGE_VALF);
  EXPECT_EQ(out[3], 0);
  EXPECT_TRUE(std::isnan(out[4]));
  apply(ScalarOp::Tanh);
  EXPECT_TRUE(std::signbit(out[1]) && out[1] == 0);
  EXPECT_EQ(out[2], 1);
  EXPECT_EQ(out[3], -1);
  EXPECT_TRUE(std::isnan(out[4]));
}

} // namespace
} // namespace tilefuse::emit
