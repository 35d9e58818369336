// SPDX-License-Identifier: Apache-2.0
// Runs kernel texts on arguments made from their buffers.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "kernel/verify.h"

namespace tilefuse::kernel::testing {

// Arguments of a kernel: element i of a constant buffer is i % 7 - 3, written ones are 0.
struct Arguments {
  explicit Arguments(const Kernel &kernel) {
    for (const Buffer &buffer : kernel.buffers) {
      if (buffer.space != Space::Global)
        continue;
      const DType type = buffer.type.elem;
      auto &bytes = data.emplace_back(static_cast<std::size_t>(buffer.elems * size_bytes(type)));
      for (std::int64_t i = 0; i < buffer.elems && !buffer.written; ++i)
        store_element(bytes.data(), type, i, static_cast<double>(i % 7 - 3));
    }
    for (auto &bytes : data)
      spans.emplace_back(bytes);
  }
  std::vector<std::vector<std::byte>> data;
  std::vector<std::span<std::byte>> spans;
};

inline Counts counts_of(std::string_view text, const SimulationOptions &options = {}) {
  const Kernel kernel = parse_kernel(text);
  const Arguments args(kernel);
  return simulate(kernel, args.spans, options);
}

// The error of a run, or "no error".
inline std::string fault_of(std::string_view text, const SimulationOptions &options = {}) {
  try {
    counts_of(text, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

// A kernel of 64 work-items in one block with an f32 input x, an output y and a local buffer s.
inline std::string block_of_64(std::string_view stmts, std::string_view buffers = "") {
  return "kernel k blocks 1 block_size 64 {\nglobal const x f32[4096]\nglobal y f32[4096]\n"
         "local s f32[2560]\n" +
         std::string(buffers) + std::string(stmts) + "\n}";
}

} // namespace tilefuse::kernel::testing
