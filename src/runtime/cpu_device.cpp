// SPDX-License-Identifier: Apache-2.0
// The machine's own processor as a device. Packages are machine code already; a launch calls it
// once per block, spread over the threads of a pool in runs of neighbouring blocks, or inline when
// the work is too small to share.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "runtime/device.h"
#include "runtime/elf_loader.h"
#include "runtime/host_ceilings.h"
#include "runtime/out_of_memory.h"

namespace tilefuse::runtime {
namespace {

using Entry = void (*)(void *const *args, std::int64_t block, void *scratch);

constexpr std::int64_t kAlign = 64;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
constexpr double kInlineSeconds = 4e-6; // less work than this stays on the calling thread
constexpr double kChunkSeconds = 1e-6;  // handed out at once, at least
constexpr double kAssumedGhz =
    3.0; // a constant, so that the target and cache keys do not change with the clock
constexpr std::int64_t kMaxThreads = 1024;

// ---- what the processor is

struct Feature {
  const char *name;
  bool present;
};

std::string missing(std::span<const Feature> features) {
  std::string names;
  for (const Feature &feature : features)
    if (!feature.present)
      names += (names.empty() ? "" : ", ") + std::string(feature.name);
  return names;
}

#if defined(__x86_64__)
std::string missing_for_avx2() {
  __builtin_cpu_init();
  const std::array<Feature, 6> needed = {{{"AVX2", __builtin_cpu_supports("avx2") != 0},
                                          {"FMA", __builtin_cpu_supports("fma") != 0},
                                          {"F16C", __builtin_cpu_supports("f16c") != 0},
                                          {"BMI", __builtin_cpu_supports("bmi") != 0},
                                          {"BMI2", __builtin_cpu_supports("bmi2") != 0},
                                          {"LZCNT", __builtin_cpu_supports("lzcnt") != 0}}};
  return missing(needed);
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
std::string missing_for_avx2() { return "the x86-64 instruction set"; }
bool has_avx512() { return false; }
#endif

Target host_target(int threads) {
  if (const std::string absent = missing_for_avx2(); !absent.empty())
    throw Error(ErrorCode::Device, fmt::format("this processor lacks {}", absent), "cpu",
                {"the cpu device needs x86-64 with AVX2, FMA and F16C; try --device opencl"});
  Target target;
  const bool wide = has_avx512();
  target.name = wide ? "cpu_avx512" : "cpu_avx2";
  target.backend = "llvm";
  target.isa = wide ? "x86-64-v4" : "x86-64-v3";
  target.lanes = LaneKind::Vector;
  target.vector_f32 = wide ? 16 : 8;
  target.vector_registers = wide ? 32 : 16;
  target.compute_units = threads;
  target.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  target.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
  target.local_bytes = target.l2_bytes / 2;
  // Two fused multiply-adds per cycle.
  target.gflops_per_unit = target.vector_f32 * 4 * kAssumedGhz;
  return target;
}

std::string processor_name(const Target &target, int threads) {
  std::string model = "x86-64";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos)
      continue;
    model = line.substr(colon + 2);
    break;
  }
  return fmt::format("{} ({} {}, {})", model, threads, threads == 1 ? "thread" : "threads",
                     target.vector_f32 == 16 ? "AVX-512" : "AVX2");
}

// ---- memory

std::int64_t physical_bytes() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0)
    return std::numeric_limits<std::int64_t>::max();
  return pages * page;
}

// Bytes that the system can still give without ending a process; all where it does not say.
std::int64_t free_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;) {
    std::int64_t kib = 0;
    if (word == "MemAvailable:" && info >> kib)
      return kib * 1024;
  }
  return physical_bytes();
}

class CpuMemory final : public Memory {
public:
  explicit CpuMemory(std::int64_t bytes) : bytes_(bytes) {
    if (bytes < 0)
      throw Error(ErrorCode::Device, fmt::format("memory of {} bytes is asked for", bytes));
    // The system promises more than it has, and ends those who use it.
    if (bytes >= kHugePage && bytes > free_bytes())
      throw out_of_memory("the cpu", bytes, free_bytes(), physical_bytes());
    const std::int64_t align = bytes >= kHugePage ? kHugePage : kAlign;
    // Whole alignment units, so that the last vector of a page-sized buffer stays inside.
    const std::int64_t whole = std::max<std::int64_t>((bytes + align - 1) / align * align, align);
    data_ = static_cast<std::byte *>(
        std::aligned_alloc(static_cast<std::size_t>(align), static_cast<std::size_t>(whole)));
    if (data_ == nullptr)
      throw out_of_memory("the cpu", bytes, free_bytes(), physical_bytes());
    if (align == kHugePage)
      madvise(data_, static_cast<std::size_t>(whole), MADV_HUGEPAGE);
  }
  ~CpuMemory() override { std::free(data_); }
  CpuMemory(const CpuMemory &) = delete;
  CpuMemory &operator=(const CpuMemory &) = delete;

  std::int64_t bytes() const override { return bytes_; }
  std::byte *data() const { return data_; }

private:
  std::int64_t bytes_;
  std::byte *data_ = nullptr;
};

// The first byte of a binding of which `bytes` are to be touched; Error{Device} when it leaves its
// memory.
std::byte *locate(const Binding &binding, std::int64_t bytes) {
  const auto *memory = dynamic_cast<const CpuMemory *>(binding.memory);
  if (memory == nullptr)
    throw Error(ErrorCode::Device, "a binding has no memory of the cpu device");
  const std::int64_t all = memory->bytes();
  const bool fits = binding.offset >= 0 && binding.offset <= all && binding.bytes >= bytes &&
                    binding.bytes <= all - binding.offset && bytes >= 0;
  if (!fits)
    throw Error(ErrorCode::Device,
                fmt::format("a binding of {} bytes at {} in memory of {} bytes, {} are needed",
                            binding.bytes, binding.offset, all, bytes));
  return memory->data() + binding.offset;
}

// ---- launches

class CpuKernel final : public Launchable {
public:
  CpuKernel(const Package &package, std::span<const Binding> bindings) : image_(package.code) {
    entry_ = reinterpret_cast<Entry>(image_.function(package.symbol));
    if (bindings.size() != package.args.size())
      throw Error(ErrorCode::Device,
                  fmt::format("kernel '{}' takes {} arguments, got {}", package.name,
                              package.args.size(), bindings.size()));
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      if (bindings[i].offset % kAlign != 0)
        throw Error(
            ErrorCode::Device,
            fmt::format("argument {} of kernel '{}' lies at byte {}; it must be a multiple of {}",
                        i, package.name, bindings[i].offset, kAlign));
      args_.push_back(locate(bindings[i], package.args[i].bytes));
    }
    blocks_ = package.blocks;
    scratch_bytes_ = package.scratch_bytes;
    flops_ = package.flops;
    bytes_ = package.bytes;
  }

  std::int64_t blocks() const { return blocks_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  // Expected on one thread.
  double seconds(const Target &target) const {
    return std::max(flops_ / (target.gflops_per_unit * 1e9), bytes_ / (target.gbytes_per_s * 1e9));
  }
  void run(std::int64_t first, std::int64_t last, void *scratch) const {
    for (std::int64_t block = first; block < last; ++block)
      entry_(args_.data(), block, scratch);
  }

private:
  ElfImage image_;
  Entry entry_ = nullptr;
  std::vector<void *> args_;
  std::int64_t blocks_ = 0;
  std::int64_t scratch_bytes_ = 0;
  double flops_ = 0;
  double bytes_ = 0;
};

void check_launchable(const Package &package) {
  if (package.format != CodeFormat::ElfObject)
    throw Error(
        ErrorCode::Device,
        fmt::format("kernel '{}' is OpenCL code; the cpu device runs machine code", package.name));
  if (package.block_size != 1 || package.blocks < 0 || package.scratch_bytes < 0 ||
      package.counts != 0)
    throw Error(
        ErrorCode::Device,
        fmt::format("kernel '{}' has {} blocks of {} work-items and {} bytes of scratch; the cpu "
                    "device runs blocks of 1",
                    package.name, package.blocks, package.block_size, package.scratch_bytes));
}

class CpuDevice final : public Device {
public:
  explicit CpuDevice(int threads)
      : target_(host_target(threads)), name_(processor_name(target_, threads)),
        driver_(target_.isa + " elf1"), pool_(threads),
        scratch_(static_cast<std::size_t>(threads)) {}

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return driver_; }
  std::int64_t alignment() const override { return kAlign; }
  Ceilings ceilings() override {
    return host_ceilings(pool_.threads()).value_or(stated_ceilings(target_));
  }

  std::unique_ptr<Memory> allocate(std::int64_t bytes) override {
    return std::make_unique<CpuMemory>(bytes);
  }
  void write(const Binding &to, std::span<const std::byte> from) override {
    std::byte *data = locate(to, static_cast<std::int64_t>(from.size()));
    if (!from.empty())
      std::memcpy(data, from.data(), from.size());
  }
  void read(const Binding &from, std::span<std::byte> to) override {
    const std::byte *data = locate(from, static_cast<std::int64_t>(to.size()));
    if (!to.empty())
      std::memcpy(to.data(), data, to.size());
  }
  void fill_zero(const Binding &to) override {
    std::memset(locate(to, to.bytes), 0, static_cast<std::size_t>(to.bytes));
  }

  std::vector<Package> build(std::vector<Package> packages) override {
    for (const Package &package : packages)
      check_launchable(package);
    return packages;
  }

  std::unique_ptr<Launchable> load(const Package &built,
                                   std::span<const Binding> bindings) override {
    check_launchable(built);
    auto kernel = std::make_unique<CpuKernel>(built, bindings);
    reserve_scratch(kernel->scratch_bytes());
    return kernel;
  }

  void launch(Launchable &kernel) override { run(dynamic_cast<CpuKernel &>(kernel)); }
  void finish() override {}

  std::vector<LaunchTime> trace(std::span<Launchable *const> kernels) override {
    const auto start = std::chrono::steady_clock::now();
    const auto now = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::vector<LaunchTime> times;
    for (Launchable *kernel : kernels) {
      const double begin = times.empty() ? 0 : now();
      launch(*kernel);
      times.push_back({begin, now()});
    }
    return times;
  }

private:
  // Every thread's scratch holds at least `bytes`.
  void reserve_scratch(std::int64_t bytes) {
    if (bytes <= scratch_bytes_)
      return;
    for (auto &memory : scratch_)
      memory = std::make_unique<CpuMemory>(bytes);
    scratch_bytes_ = bytes;
  }
  void *scratch(int worker) const {
    const auto &memory = scratch_[static_cast<std::size_t>(worker)];
    return memory == nullptr ? nullptr : memory->data();
  }

  // Blocks handed out at once: long enough to cover the cost of handing out, short enough for four
  // runs per thread.
  std::int64_t blocks_per_chunk(const CpuKernel &kernel, double seconds) const {
    const auto blocks = static_cast<double>(kernel.blocks());
    const double by_time = std::ceil(blocks * kChunkSeconds / seconds);
    const double by_balance = std::ceil(blocks / (4.0 * pool_.threads()));
    return static_cast<std::int64_t>(std::max(1.0, std::min(by_time, by_balance)));
  }

  void run(const CpuKernel &kernel) {
    const double seconds = kernel.seconds(target_);
    const bool is_small = !(seconds >= kInlineSeconds); // also when a damaged package says NaN
    if (is_small || kernel.blocks() <= 1 || pool_.threads() == 1)
      return kernel.run(0, kernel.blocks(), scratch(0));
    const std::int64_t chunk = blocks_per_chunk(kernel, seconds);
    const std::int64_t chunks = (kernel.blocks() + chunk - 1) / chunk;
    pool_.parallel_for(chunks, [&](int worker, std::int64_t i) {
      kernel.run(i * chunk, std::min((i + 1) * chunk, kernel.blocks()), scratch(worker));
    });
  }

  Target target_;
  std::string name_;
  std::string driver_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<CpuMemory>> scratch_; // by worker
  std::int64_t scratch_bytes_ = 0;
};

} // namespace

std::unique_ptr<Device> make_cpu_device(int threads) {
  if (threads < 0 || threads > kMaxThreads)
    throw Error(ErrorCode::Device,
                fmt::format("{} threads asked for; 0 (all cores) to {} are possible", threads,
                            kMaxThreads));
  return std::make_unique<CpuDevice>(threads == 0 ? available_threads() : threads);
}

} // namespace tilefuse::runtime
