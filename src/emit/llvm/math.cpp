// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/math.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

namespace tilefuse::emit::native {
namespace {

// Operations on one float type, with constants spread over its lanes.
class FloatMath {
public:
  FloatMath(Ir &ir, llvm::Type *type) : ir_(ir), type_(type) {}

  llvm::Value *real(double value) { return llvm::ConstantFP::get(type_, value); }
  llvm::Value *fma(llvm::Value *a, llvm::Value *b, llvm::Value *c) {
    return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {a, b, c});
  }
  // a, or `bound` where a is past it; NaN stays.
  llvm::Value *at_most(llvm::Value *a, double bound) {
    return ir_.CreateSelect(ir_.CreateFCmpOGT(a, real(bound)), real(bound), a);
  }
  llvm::Value *at_least(llvm::Value *a, double bound) {
    return ir_.CreateSelect(ir_.CreateFCmpOLT(a, real(bound)), real(bound), a);
  }
  // coefficients[0] + x * (coefficients[1] + …).
  llvm::Value *polynomial(llvm::Value *x, std::span<const double> coefficients) {
    llvm::Value *sum = real(coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;)
      sum = fma(sum, x, real(coefficients[i]));
    return sum;
  }

private:
  Ir &ir_;
  llvm::Type *type_;
};

// 2^n as float, for n in [-126, 127].
llvm::Value *power_of_two(Ir &ir, llvm::Value *n, llvm::Type *type) {
  llvm::Value *biased = ir.CreateAdd(n, llvm::ConstantInt::get(n->getType(), 127));
  return ir.CreateBitCast(ir.CreateShl(biased, 23), type);
}

// Whether the processor scales a vector of that type by powers of two in one instruction.
bool has_scaling(Ir &ir, llvm::Type *type) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr && vector->getNumElements() == 16 &&
         vector_lanes(*ir.GetInsertBlock()->getModule()) >= 16;
}

// x * 2^n for whole n, rounded once.
llvm::Value *scaled(Ir &ir, llvm::Value *x, llvm::Value *n) {
  constexpr std::uint32_t kCurrentRounding = 4;
  return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                            {x, n, x, ir.getInt16(0xffff), ir.getInt32(kCurrentRounding)});
}

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2High = 0.693147182464599609375;      // ln 2 as float
constexpr double kLn2Low = -1.904654212132592919e-9;      // and what it misses
constexpr double kRoundToInteger = 12582912.0;            // 1.5 * 2^23: its last place is 1
constexpr double kRoundToIntegerF64 = 6755399441055744.0; // 1.5 * 2^52
constexpr double kRootHalf = 0.7071067811865476;
constexpr double kSmallestNormal = 1.1754943508222875e-38;
// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, interpolated at Chebyshev nodes; relative error of e^r
// 1e-8.
constexpr std::array<double, 5> kExp = {0.5, 0.16666577756404877, 0.041666556149721146,
                                        0.008363173343241215, 0.0013926175888627768};
// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.625, the same way; relative error of tanh 5e-9.
constexpr std::array<double, 6> kTanh = {-0.3333333432674408,   0.13333304226398468,
                                         -0.053959257900714874, 0.02176891826093197,
                                         -0.008343945257365704, 0.002292744815349579};
// (ln(1 + r) - r + r^2 / 2) / r^3 for 1 + r in [sqrt 1/2, sqrt 2], the same way; relative error of
// the logarithm 3e-9.
constexpr std::array<double, 9> kLog = {
    0.33333331180030046,  -0.24999996957950882, 0.200007157488921,
    -0.16667802319501254, 0.1424905764569748,   -0.12425687331451106,
    0.1168541992348674,   -0.11479733846637635, 0.06971611471451178};
// erf(x) / x - 1 in x^2 for |x| <= 1; relative error of erf 1e-9.
constexpr std::array<double, 7> kErf = {
    0.1283791658483509,   -0.37612626666720334,  0.11283594715160218,  -0.026854212010626412,
    0.005189087423433974, -0.000801686428716587, 7.875875062685488e-05};
// ln(1 - erf(x)) for x in [1, 4]; relative error of erf 6e-10.
constexpr std::array<double, 9> kLogErfc = {
    0.00032013804967769883, -1.130233434841994,     -0.631826051559163,
    -0.11008008294882024,   0.026421136005663898,   -0.004759596293266265,
    0.0005968056256607798,  -4.605804268918978e-05, 1.6371514145936436e-06};
// log2(m) / s in s^2 for s = (m - 1) / (m + 1), m in [sqrt 1/2, sqrt 2]; relative error 4e-12.
constexpr std::array<double, 5> kLog2 = {2.885390081789987, 0.9617966734515485, 0.5770835660048659,
                                         0.41167376623771057, 0.3407120415619086};
// 2^r for |r| <= 1/2; relative error 6e-11.
constexpr std::array<double, 8> kExp2 = {
    0.9999999999595618,   0.6931471805568324,    0.24022651213498092,    0.055504109063258665,
    0.009618025613318034, 0.0013333478473685416, 0.00015469729214118296, 1.5303700711365693e-05};

// x = m * 2^e with m in [sqrt 1/2, sqrt 2), for positive finite normal x of float or double.
struct Parts {
  llvm::Value *mantissa;
  llvm::Value *exponent; // of x's type
};
Parts parts_of(Ir &ir, llvm::Value *x) {
  llvm::Type *type = x->getType();
  const bool is_double = type->getScalarType()->isDoubleTy();
  const unsigned digits = is_double ? 52 : 23;
  llvm::Type *integer = type->getWithNewType(ir.getIntNTy(type->getScalarSizeInBits()));
  FloatMath math(ir, type);
  llvm::Value *bits = ir.CreateBitCast(x, integer);
  llvm::Value *root = ir.CreateBitCast(math.real(kRootHalf), integer);
  llvm::Value *exponent = ir.CreateAShr(ir.CreateSub(bits, root), digits);
  llvm::Value *mantissa = ir.CreateSub(bits, ir.CreateShl(exponent, digits));
  // A small integer as a float: added to the last places of one whose last place is 1.
  const double big = is_double ? kRoundToIntegerF64 : kRoundToInteger;
  llvm::Value *sum = ir.CreateAdd(ir.CreateBitCast(math.real(big), integer), exponent);
  return {ir.CreateBitCast(mantissa, type),
          ir.CreateFSub(ir.CreateBitCast(sum, type), math.real(big))};
}

// 2^x as double, infinity or 0 once it is one as float; x is no NaN.
llvm::Value *exp2_f64(Ir &ir, llvm::Value *x) {
  llvm::Type *type = x->getType();
  llvm::Type *integer = type->getWithNewType(ir.getInt64Ty());
  FloatMath math(ir, type);
  x = math.at_least(math.at_most(x, 200), -200);
  llvm::Value *shifted = ir.CreateFAdd(x, math.real(kRoundToIntegerF64));
  llvm::Value *r = ir.CreateFSub(x, ir.CreateFSub(shifted, math.real(kRoundToIntegerF64)));
  // The integer in the last places, as an exponent.
  llvm::Value *power = ir.CreateShl(ir.CreateBitCast(shifted, integer), 52);
  llvm::Value *bits = ir.CreateBitCast(math.polynomial(r, kExp2), integer);
  return ir.CreateBitCast(ir.CreateAdd(bits, power), type);
}

// log2 |x| of float as double.
llvm::Value *log2_f64(Ir &ir, llvm::Value *x) {
  llvm::Type *type = x->getType();
  FloatMath math(ir, type);
  const Parts parts = parts_of(ir, x);
  llvm::Value *s = ir.CreateFDiv(ir.CreateFSub(parts.mantissa, math.real(1)),
                                 ir.CreateFAdd(parts.mantissa, math.real(1)));
  llvm::Value *series = math.polynomial(ir.CreateFMul(s, s), kLog2);
  llvm::Value *finite = math.fma(s, series, parts.exponent);
  llvm::Value *is_finite =
      ir.CreateAnd(ir.CreateFCmpOGT(x, math.real(0)), ir.CreateFCmpOLT(x, math.real(HUGE_VAL)));
  // 0 gives minus infinity; infinity and NaN themselves.
  llvm::Value *other = ir.CreateSelect(ir.CreateFCmpOEQ(x, math.real(0)), math.real(-HUGE_VAL), x);
  return ir.CreateSelect(is_finite, finite, other);
}

} // namespace

int vector_lanes(const llvm::Module &module) {
  const auto *lanes =
      llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kVectorFlag));
  return lanes == nullptr ? 0 : static_cast<int>(lanes->getZExtValue());
}

llvm::Value *emit_exp_f32(Ir &ir, llvm::Value *x) {
  llvm::Type *type = x->getType();
  FloatMath math(ir, type);
  llvm::Type *bits = type->getWithNewType(ir.getInt32Ty());
  // Past these bounds the result is infinity and 0.
  x = math.at_least(math.at_most(x, 89.0), -104.0);
  llvm::Value *shifted = math.fma(x, math.real(kLog2E), math.real(kRoundToInteger));
  llvm::Value *n = ir.CreateFSub(shifted, math.real(kRoundToInteger));
  llvm::Value *r = math.fma(n, math.real(-kLn2High), x);
  r = math.fma(n, math.real(-kLn2Low), r);
  llvm::Value *tail = ir.CreateFMul(math.polynomial(r, kExp), ir.CreateFMul(r, r));
  llvm::Value *mantissa = ir.CreateFAdd(ir.CreateFAdd(tail, r), math.real(1));
  if (has_scaling(ir, type))
    return scaled(ir, mantissa, n);
  // In two factors, so that subnormal results are rounded once and 2^128 is reached.
  llvm::Value *exponent = ir.CreateSub(ir.CreateBitCast(shifted, bits),
                                       ir.CreateBitCast(math.real(kRoundToInteger), bits));
  llvm::Value *half = ir.CreateAShr(exponent, 1);
  llvm::Value *rest = ir.CreateSub(exponent, half);
  llvm::Value *scaled = ir.CreateFMul(mantissa, power_of_two(ir, half, type));
  return ir.CreateFMul(scaled, power_of_two(ir, rest, type));
}

llvm::Value *emit_tanh_f32(Ir &ir, llvm::Value *x) {
  llvm::Type *type = x->getType();
  FloatMath math(ir, type);
  llvm::Value *size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *square = ir.CreateFMul(size, size);
  llvm::Value *cubic = ir.CreateFMul(math.polynomial(square, kTanh), ir.CreateFMul(square, size));
  llvm::Value *near_zero = ir.CreateFAdd(cubic, size);
  // 1 - 2 / (e^2|x| + 1), which an infinite power makes 1.
  llvm::Value *power = emit_exp_f32(ir, ir.CreateFAdd(size, size));
  llvm::Value *quotient = ir.CreateFDiv(math.real(2), ir.CreateFAdd(power, math.real(1)));
  llvm::Value *far = ir.CreateFSub(math.real(1), quotient);
  llvm::Value *result = ir.CreateSelect(ir.CreateFCmpOLT(size, math.real(0.625)), near_zero, far);
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
}

llvm::Value *emit_log_f32(Ir &ir, llvm::Value *x) {
  constexpr double kRaise = 8388608; // 2^23: makes subnormal numbers normal
  FloatMath math(ir, x->getType());
  llvm::Value *is_small = ir.CreateFCmpOLT(x, math.real(kSmallestNormal));
  llvm::Value *raised = ir.CreateSelect(is_small, ir.CreateFMul(x, math.real(kRaise)), x);
  const Parts parts = parts_of(ir, raised);
  llvm::Value *exponent =
      ir.CreateFAdd(parts.exponent, ir.CreateSelect(is_small, math.real(-23), math.real(0)));
  llvm::Value *r = ir.CreateFSub(parts.mantissa, math.real(1));
  llvm::Value *square = ir.CreateFMul(r, r);
  llvm::Value *tail = ir.CreateFMul(ir.CreateFMul(math.polynomial(r, kLog), square), r);
  tail = math.fma(exponent, math.real(kLn2Low), tail);
  tail = math.fma(square, math.real(-0.5), tail);
  llvm::Value *finite = math.fma(exponent, math.real(kLn2High), ir.CreateFAdd(r, tail));
  // Infinity and NaN give themselves, 0 minus infinity, what is negative NaN.
  llvm::Value *other = ir.CreateSelect(ir.CreateFCmpUGT(x, math.real(0)), x, math.real(NAN));
  other = ir.CreateSelect(ir.CreateFCmpOEQ(x, math.real(0)), math.real(-HUGE_VAL), other);
  llvm::Value *is_finite =
      ir.CreateAnd(ir.CreateFCmpOGT(x, math.real(0)), ir.CreateFCmpOLT(x, math.real(HUGE_VAL)));
  return ir.CreateSelect(is_finite, finite, other);
}

llvm::Value *emit_erf_f32(Ir &ir, llvm::Value *x) {
  FloatMath math(ir, x->getType());
  llvm::Value *size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *near_zero = math.fma(math.polynomial(ir.CreateFMul(size, size), kErf), size, size);
  llvm::Value *power = emit_exp_f32(ir, math.polynomial(math.at_most(size, 4), kLogErfc));
  llvm::Value *far = ir.CreateFSub(math.real(1), power);
  llvm::Value *result = ir.CreateSelect(ir.CreateFCmpOLE(size, math.real(1)), near_zero, far);
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
}

llvm::Value *emit_pow_f32(Ir &ir, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType();
  llvm::Type *wide = type->getWithNewType(ir.getDoubleTy());
  FloatMath math(ir, type);
  llvm::Value *size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *exponent =
      ir.CreateFMul(log2_f64(ir, ir.CreateFPExt(size, wide)), ir.CreateFPExt(y, wide));
  llvm::Value *power = ir.CreateFPTrunc(exp2_f64(ir, exponent), type);
  power = ir.CreateSelect(ir.CreateFCmpUNO(exponent, exponent), math.real(NAN), power);
  // Negative x: an odd power is negative, one that is no integer is none unless x is infinite.
  const auto floor = [&](llvm::Value *v) {
    return ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v);
  };
  const auto is_whole = [&](llvm::Value *v) { return ir.CreateFCmpOEQ(floor(v), v); };
  llvm::Value *whole = is_whole(y);
  llvm::Value *odd = ir.CreateAnd(whole, ir.CreateNot(is_whole(ir.CreateFMul(y, math.real(0.5)))));
  llvm::Value *signed_power = ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, power, x);
  power = ir.CreateSelect(odd, signed_power, power);
  llvm::Value *is_negative =
      ir.CreateAnd(ir.CreateFCmpOLT(x, math.real(0)), ir.CreateFCmpOGT(x, math.real(-HUGE_VAL)));
  power = ir.CreateSelect(ir.CreateAnd(is_negative, ir.CreateNot(whole)), math.real(NAN), power);
  // 1^y and x^0 are 1 for whatever is there, NaN too; (-1)^infinity as well.
  llvm::Value *is_one =
      ir.CreateOr(ir.CreateFCmpOEQ(y, math.real(0)), ir.CreateFCmpOEQ(x, math.real(1)));
  llvm::Value *is_turning = ir.CreateAnd(
      ir.CreateFCmpOEQ(x, math.real(-1)),
      ir.CreateFCmpOEQ(ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y), math.real(HUGE_VAL)));
  return ir.CreateSelect(ir.CreateOr(is_one, is_turning), math.real(1), power);
}

llvm::Value *emit_libm(Ir &ir, std::string_view name, std::span<llvm::Value *const> args) {
  llvm::Type *type = args[0]->getType();
  llvm::Type *scalar = type->getScalarType();
  std::string symbol(name);
  if (scalar->isFloatTy())
    symbol += 'f';
  const std::vector<llvm::Type *> parameters(args.size(), scalar);
  llvm::Module &module = *ir.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(symbol, llvm::FunctionType::get(scalar, parameters, false));
  const auto call_lane = [&](std::span<llvm::Value *const> lane_args) {
    llvm::CallInst *call =
        ir.CreateCall(callee, llvm::ArrayRef<llvm::Value *>(lane_args.data(), lane_args.size()));
    call->setDoesNotThrow();
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::NoBuiltin);
    return call;
  };
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr)
    return call_lane(args);
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<llvm::Value *> lane_args;
    for (llvm::Value *arg : args)
      lane_args.push_back(ir.CreateExtractElement(arg, lane));
    result = ir.CreateInsertElement(result, call_lane(lane_args), lane);
  }
  return result;
}

} // namespace tilefuse::emit::native
