// SPDX-License-Identifier: Apache-2.0
// From kernel to package, for one back end. One of the three interfaces of tilefuse; an emitter is
// stateless between calls and may be called from several threads.
#pragma once

#include <memory>
#include <string>

#include "kernel/nodes.h"
#include "package/package.h"
#include "target/target.h"

namespace tilefuse::emit {

class Emitter {
public:
  virtual ~Emitter() = default;
  virtual Package emit(const kernel::Kernel &kernel, const Target &target) const = 0;
};

// A C identifier of at most 63 characters for a kernel's name: cut and hashed when longer.
std::string symbol_for(const std::string &kernel_name);

std::unique_ptr<Emitter> make_opencl_emitter();
std::unique_ptr<Emitter> make_cuda_emitter();

// The emitter of a target's back end; null with the reason in `why` when it cannot be had.
std::unique_ptr<Emitter> make_emitter(const Target &target, std::string *why);

// LLVM code generation lives in a module of its own, tilefuse_llvm, beside the program (or in
// ../lib/tilefuse), so that nothing else needs LLVM. Null with the reason in `why` when the module
// or its library is not there.
std::unique_ptr<Emitter> make_llvm_emitter(std::string *why);

} // namespace tilefuse::emit
