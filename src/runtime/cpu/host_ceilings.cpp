// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/host_ceilings.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/thread_pool.h"

namespace tilefuse::runtime {

std::int64_t cache_bytes(int name, std::int64_t otherwise) {
  const std::int64_t bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

#if defined(__x86_64__)
namespace {

constexpr int kChains = 12;         // sums of a turn that do not wait for each other
constexpr std::int64_t kStep = 512; // bytes of a turn through memory
constexpr int kRounds = 8;
constexpr std::int64_t kTurns = 400000;                      // of multiply-adds in a round
constexpr std::int64_t kRoundBytes = std::int64_t{32} << 20; // of one thread in a round, at least
constexpr std::int64_t kMostBytes = std::int64_t{128} << 20; // to be beyond all caches
constexpr std::int64_t kPage = std::int64_t{2} << 20;

// Vectors of kWidth bytes, 64 or 32, in these three.
template <int kWidth> void multiply_add(std::int64_t turns) {
  asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,14,15\n"
               "vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n"
               ".endr\n"
               "1:\n"
               ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n"
               ".if %c[width] == 64\n"
               "vfmadd231ps %%zmm14, %%zmm15, %%zmm\\r\n"
               ".else\n"
               "vfmadd231ps %%ymm14, %%ymm15, %%ymm\\r\n"
               ".endif\n"
               ".endr\n"
               "dec %[turns]\n"
               "jnz 1b\n"
               "vzeroupper\n"
               : [turns] "+r"(turns)
               : [width] "i"(kWidth)
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                 "xmm9", "xmm10", "xmm11", "xmm14", "xmm15");
}

template <int kWidth> void read(std::byte *data, std::int64_t turns) {
  asm volatile("1:\n"
               ".irp at,0,64,128,192,256,320,384,448\n"
               ".if %c[width] == 64\n"
               "vmovups \\at(%[data]), %%zmm0\n"
               ".else\n"
               "vmovups \\at(%[data]), %%ymm0\n"
               "vmovups \\at+32(%[data]), %%ymm0\n"
               ".endif\n"
               ".endr\n"
               "add %[step], %[data]\n"
               "dec %[turns]\n"
               "jnz 1b\n"
               "vzeroupper\n"
               : [data] "+r"(data), [turns] "+r"(turns)
               : [width] "i"(kWidth), [step] "i"(kStep)
               : "cc", "memory", "xmm0");
}

// Reads every line and writes every other one back.
template <int kWidth> void update(std::byte *data, std::int64_t turns) {
  asm volatile("1:\n"
               ".irp at,0,128,256,384\n"
               ".if %c[width] == 64\n"
               "vmovups \\at(%[data]), %%zmm0\n"
               "vmovups \\at+64(%[data]), %%zmm1\n"
               "vmovups %%zmm0, \\at(%[data])\n"
               ".else\n"
               "vmovups \\at(%[data]), %%ymm0\n"
               "vmovups \\at+32(%[data]), %%ymm1\n"
               "vmovups \\at+64(%[data]), %%ymm2\n"
               "vmovups \\at+96(%[data]), %%ymm3\n"
               "vmovups %%ymm0, \\at(%[data])\n"
               "vmovups %%ymm1, \\at+32(%[data])\n"
               ".endif\n"
               ".endr\n"
               "add %[step], %[data]\n"
               "dec %[turns]\n"
               "jnz 1b\n"
               "vzeroupper\n"
               : [data] "+r"(data), [turns] "+r"(turns)
               : [width] "i"(kWidth), [step] "i"(kStep)
               : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3");
}

template <int kWidth> class Machine {
public:
  explicit Machine(int threads) : threads_(threads), pool_(threads) {}

  Ceilings ceilings() {
    const std::int64_t l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    const std::int64_t l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
    const std::int64_t l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 0);
    const std::int64_t beyond = std::min(kMostBytes, 4 * std::max(l3, l2 * threads_)) / threads_;
    reserve(std::max(beyond, 2 * l2));
    Ceilings all{.flops_per_s = flops_per_s(), .levels = {}};
    const auto add = [&](std::int64_t held, std::int64_t each) {
      all.levels.push_back({.bytes = static_cast<double>(held), .bytes_per_s = bytes_per_s(each)});
    };
    add(l1 * threads_, l1 / 2);
    add(l2 * threads_, l2 / 2);
    if (l3 > 0)
      add(l3, 2 * l2);
    add(0, beyond);
    return all;
  }

private:
  void reserve(std::int64_t each) {
    each_ = (each + kPage - 1) / kPage * kPage;
    const auto bytes = static_cast<std::size_t>(each_ * threads_);
    data_.reset(static_cast<std::byte *>(std::aligned_alloc(kPage, bytes)));
    if (data_ != nullptr)
      std::memset(data_.get(), 0, bytes);
  }

  // Seconds of the fastest round in which every thread runs `body(worker)` once.
  template <typename Body> double best(const Body &body) {
    using Clock = std::chrono::steady_clock;
    double least = 1;
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point start = Clock::now();
      pool_.parallel_for(threads_, [&](int, std::int64_t share) { body(share); });
      least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return least;
  }

  double flops_per_s() {
    const double flops = 2.0 * (kWidth / sizeof(float)) * kChains * kTurns * threads_;
    return flops / best([](std::int64_t) { multiply_add<kWidth>(kTurns); });
  }

  // Through `each` bytes of every thread, again and again.
  double bytes_per_s(std::int64_t each) {
    if (data_ == nullptr)
      return 1e15;
    const std::int64_t turns = each / kStep;
    const std::int64_t again = std::max<std::int64_t>(1, kRoundBytes / each);
    const auto through = [&](auto loop) {
      return best([&](std::int64_t share) {
        for (std::int64_t i = 0; i < again; ++i)
          loop(data_.get() + share * each_, turns);
      });
    };
    const double bytes = static_cast<double>(turns * kStep * again) * threads_;
    return std::max(bytes / through(read<kWidth>), 1.5 * bytes / through(update<kWidth>));
  }

  struct Free {
    void operator()(std::byte *data) const { std::free(data); }
  };
  int threads_ = 1;
  ThreadPool pool_;
  std::int64_t each_ = 0; // bytes of one thread
  std::unique_ptr<std::byte, Free> data_;
};

} // namespace

std::optional<Ceilings> host_ceilings(int threads, int lanes) {
  __builtin_cpu_init();
  if (lanes >= 16 && __builtin_cpu_supports("avx512f"))
    return Machine<64>(threads).ceilings();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return Machine<32>(threads).ceilings();
  return std::nullopt;
}
#else
std::optional<Ceilings> host_ceilings(int, int) { return std::nullopt; }
#endif

} // namespace tilefuse::runtime
