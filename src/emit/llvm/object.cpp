// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/object.h"

#include <mutex>

#include <fmt/format.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar.h>

#include "base/error.h"

namespace tilefuse::emit::native {
namespace {

constexpr const char *kTriple = "x86_64-unknown-linux-gnu";

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

void collect(const llvm::DiagnosticInfo *info, void *text) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream stream(*static_cast<std::string *>(text));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

void set_attributes(llvm::Module &module, int vector_f32) {
  for (llvm::Function &function : module) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.isDeclaration() || vector_f32 < 16)
      continue;
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
  }
}

} // namespace

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string &isa) {
  initialise_once();
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  if (target == nullptr)
    throw Error(ErrorCode::Unsupported,
                fmt::format("LLVM cannot generate x86-64 code: {}", problem));
  const std::size_t cut = isa.find(';');
  const std::string processor = isa.substr(0, cut);
  const std::string features = cut == std::string::npos ? "" : isa.substr(cut + 1);
  const std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(kTriple, "", ""));
  if (processor.empty() || known == nullptr || !known->isCPUStringValid(processor))
    throw Error(ErrorCode::Unsupported,
                fmt::format("LLVM knows no x86-64 processor '{}'", processor), "",
                {"a target's isa is a processor such as x86-64-v3, then ';' and features"});
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kTriple, processor, features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
  if (machine == nullptr)
    throw Error(ErrorCode::Unsupported, fmt::format("LLVM has no code generator for '{}'", isa));
  return machine;
}

std::string generate(llvm::TargetMachine &machine, llvm::Module &module, int vector_f32,
                     OutputKind kind) {
  std::string errors;
  module.getContext().setDiagnosticHandlerCallBack(collect, &errors);
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  set_attributes(module, vector_f32);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createEarlyCSEPass());
  const auto file = kind == OutputKind::Object ? llvm::CodeGenFileType::ObjectFile
                                               : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, file, /*DisableVerify=*/true))
    throw Error(ErrorCode::Unsupported, "LLVM cannot write x86-64 objects");
  passes.run(module);
  if (!errors.empty())
    throw Error(ErrorCode::Unsupported, fmt::format("LLVM reported: {}", errors));
  return {bytes.begin(), bytes.end()};
}

} // namespace tilefuse::emit::native
