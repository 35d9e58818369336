// SPDX-License-Identifier: Apache-2.0
// The module tilefuse_llvm: kernel to machine code. Each call has an LLVM context of its own, so
// that calls from several threads share nothing. The exported functions are what
// emit/llvm/llvm_module.cpp looks up.
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"
#include "emit/emitter.h"
#include "emit/llvm/function.h"
#include "emit/llvm/math.h"
#include "emit/llvm/object.h"
#include "emit/llvm/scratch_layout.h"
#include "emit/llvm_interface.h"
#include "emit/symbol.h"

namespace tilefuse::emit::native {
namespace {

std::string compile(const kernel::Kernel &kernel, const Target &target, const std::string &symbol,
                    OutputKind kind) {
  const auto machine = make_machine(target.isa);
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  module.setDataLayout(machine->createDataLayout());
  module.addModuleFlag(llvm::Module::Override, kVectorFlag,
                       static_cast<std::uint32_t>(target.vector_f32));
  emit_function(kernel, symbol, module);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    throw Error(ErrorCode::Unsupported,
                "kernel '" + kernel.name + "' is not well typed: " + problem);
  return generate(*machine, module, target.vector_f32, kind);
}

std::vector<Argument> arguments(const kernel::Kernel &kernel) {
  std::vector<Argument> args;
  for (const kernel::Buffer &buffer : kernel.buffers)
    if (buffer.space == kernel::Space::Global)
      args.push_back({.bytes = buffer_bytes(buffer), .written = buffer.written});
  return args;
}

class LlvmEmitter final : public Emitter {
public:
  Package emit(const kernel::Kernel &kernel, const Target &target) const override {
    Package package;
    package.name = kernel.name;
    package.symbol = symbol_for(kernel.name);
    package.format = CodeFormat::ElfObject;
    package.blocks = kernel.blocks;
    package.block_size = kernel.block_size;
    package.args = arguments(kernel);
    package.scratch_bytes = layout_scratch(kernel).bytes;
    package.flops = kernel.flops;
    package.bytes = kernel.bytes;
    package.code = compile(kernel, target, package.symbol, OutputKind::Object);
    return package;
  }
};

} // namespace
} // namespace tilefuse::emit::native

#define TILEFUSE_EXPORT extern "C" __attribute__((visibility("default")))

// What the program compares with its own before it calls anything.
TILEFUSE_EXPORT const char *tilefuse_llvm_interface() { return tilefuse::emit::kLlvmInterface; }

// Owned by the caller.
TILEFUSE_EXPORT tilefuse::emit::Emitter *tilefuse_make_llvm_emitter() {
  return new tilefuse::emit::native::LlvmEmitter;
}

TILEFUSE_EXPORT void tilefuse_llvm_assembly(const tilefuse::kernel::Kernel &kernel,
                                            const tilefuse::Target &target, std::string &text) {
  using namespace tilefuse::emit::native;
  text = compile(kernel, target, tilefuse::emit::symbol_for(kernel.name), OutputKind::Assembly);
}
