// SPDX-License-Identifier: Apache-2.0
// The module tilefuse_llvm: its emitter, and assembly text.
#pragma once

#include <string>

#include "emit/emitter.h"

namespace tilefuse::emit {

// The assembly text of a kernel, as `opt --to=package` shows it. Error{Unsupported} when the module
// is not there.
std::string llvm_assembly(const kernel::Kernel &kernel, const Target &target);

// LLVM code generation lives in a module of its own, tilefuse_llvm, in one of the own_folders()
// (base/own_folders.h), so that nothing else needs LLVM. Null with the reason in `why` when the module
// or its library is not there.
std::unique_ptr<Emitter> make_llvm_emitter(std::string *why);

} // namespace tilefuse::emit
