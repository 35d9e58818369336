// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/math.h"

#include <array>
#include <string>
#include <vector>

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

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2High = 0.693147182464599609375; // ln 2 as float
constexpr double kLn2Low = -1.904654212132592919e-9; // and what it misses
constexpr double kRoundToInteger = 12582912.0;       // 1.5 * 2^23: its last place is 1
// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, interpolated at Chebyshev nodes; relative error of e^r
// 1e-8.
constexpr std::array<double, 5> kExp = {0.5, 0.16666577756404877, 0.041666556149721146,
                                        0.008363173343241215, 0.0013926175888627768};
// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.625, the same way; relative error of tanh 5e-9.
constexpr std::array<double, 6> kTanh = {-0.3333333432674408,   0.13333304226398468,
                                         -0.053959257900714874, 0.02176891826093197,
                                         -0.008343945257365704, 0.002292744815349579};

} // namespace

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
