// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm_harness.h"
#include "emit/llvm/llvm_module.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/cpu/cpu_device.h"
#include "runtime/device.h"

namespace tilefuse::emit {

Target host_target() { return runtime::make_cpu_device(1)->target(); }

const Emitter &llvm_emitter() {
  static const std::unique_ptr<Emitter> emitter = [] {
    std::string why;
    auto made = make_llvm_emitter(&why);
    if (made == nullptr) {
      std::fprintf(stderr, "no LLVM emitter: %s\n", why.c_str());
      std::exit(1);
    }
    return made;
  }();
  return *emitter;
}

Compiled::Compiled(const kernel::Kernel &kernel)
    : package_(llvm_emitter().emit(kernel, host_target())), image_(package_.code),
      scratch_(static_cast<std::size_t>(package_.scratch_bytes) + 64) {}

void Compiled::run(const std::vector<void *> &args) {
  using Entry = void (*)(void *const *, std::int64_t, void *);
  const auto entry = reinterpret_cast<Entry>(image_.function(package_.symbol));
  const auto start = reinterpret_cast<std::uintptr_t>(scratch_.data());
  void *scratch = scratch_.data() + (64 - start % 64) % 64;
  for (std::int64_t block = 0; block < package_.blocks; ++block)
    entry(args.data(), block, scratch);
}

GuardedMemory::GuardedMemory(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t usable = (bytes + page - 1) / page * page;
  mapped_ = usable + 2 * page;
  void *memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    std::abort();
  mapping_ = static_cast<std::byte *>(memory);
  first_ = mapping_ + page;
  last_ = first_ + usable;
  if (mprotect(first_, usable, PROT_READ | PROT_WRITE) != 0)
    std::abort();
}

GuardedMemory::~GuardedMemory() { munmap(mapping_, mapped_); }

} // namespace tilefuse::emit
