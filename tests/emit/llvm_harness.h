// SPDX-License-Identifier: Apache-2.0
// Compiles a kernel for this machine, loads the object and runs its blocks on given memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emit/emitter.h"
#include "kernel/build.h"
#include "package/package.h"
#include "runtime/cpu/elf_loader.h"
#include "target/target.h"

namespace tilefuse::emit {

Target host_target();
const Emitter &llvm_emitter(); // fails the program when the module is not there

class Compiled {
public:
  explicit Compiled(const kernel::Kernel &kernel);
  void run(const std::vector<void *> &args);
  const Package &package() const { return package_; }

private:
  Package package_;
  runtime::ElfImage image_;
  std::vector<std::byte> scratch_;
};

// Memory whose last byte is followed by a page that may not be touched, and whose first page
// likewise follows one.
class GuardedMemory {
public:
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;
  std::byte *at_end(std::size_t bytes) const { return last_ - bytes; } // `bytes` before the guard
  std::byte *begin() const { return first_; }                          // just after the guard

private:
  std::byte *mapping_;
  std::size_t mapped_;
  std::byte *first_;
  std::byte *last_;
};

} // namespace tilefuse::emit
