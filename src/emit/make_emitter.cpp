// SPDX-License-Identifier: Apache-2.0
#include "emit/make_emitter.h"

#include "emit/c/cuda.h"
#include "emit/c/opencl.h"
#include "emit/llvm/llvm_module.h"

namespace tilefuse::emit {

std::unique_ptr<Emitter> make_emitter(const Target &target, std::string *why) {
  if (target.backend == "opencl")
    return make_opencl_emitter();
  if (target.backend == "cuda")
    return make_cuda_emitter();
  return make_llvm_emitter(why);
}

} // namespace tilefuse::emit
