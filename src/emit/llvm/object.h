// SPDX-License-Identifier: Apache-2.0
// From an LLVM module to an x86-64 ELF relocatable object in memory. Code generation only: the
// optimiser's pipeline costs several times the compile time and gains nothing on kernels whose
// schedule is decided. The one pass before it merges equal address arithmetic, which saves code
// generation more time than it takes.
#pragma once

#include <memory>
#include <string>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace tilefuse::emit::native {

enum class OutputKind { Object, Assembly };

// `isa` is "PROCESSOR" or "PROCESSOR;FEATURES", as in Target::isa: "x86-64-v3",
// "znver3;+avx2,+fma". Error{Unsupported} when LLVM does not know the processor.
std::unique_ptr<llvm::TargetMachine> make_machine(const std::string &isa);

// Sets function attributes that the machine's vectors ask for, and generates code.
// Error{Unsupported} with what LLVM reported.
std::string generate(llvm::TargetMachine &machine, llvm::Module &module, int vector_f32,
                     OutputKind kind);

} // namespace tilefuse::emit::native
