// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/function.h"

#include <fmt/format.h>

#include "base/error.h"
#include "emit/llvm/function_builder.h"

namespace tilefuse::emit::native {

void emit_function(const kernel::Kernel &kernel, const std::string &symbol, llvm::Module &module) {
  if (kernel.block_size != 1)
    throw Error(ErrorCode::Unsupported,
                fmt::format("kernel '{}' has {} work-items per block; machine code runs 1",
                            kernel.name, kernel.block_size));
  FunctionBuilder(kernel, module).build(symbol);
}

} // namespace tilefuse::emit::native
