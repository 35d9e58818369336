// SPDX-License-Identifier: Apache-2.0
// The machine's own processor as a device. Packages are machine code already; a launch calls it
// once per block, spread over the threads of a pool in runs of neighbouring blocks, or inline when
// the work is too small to share. In a list of launches a thread that finds no block left brings
// the next kernel's constants into its cache until the others are done.
#include "runtime/cpu/cpu_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "base/error.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "runtime/cpu/elf_loader.h"
#include "runtime/cpu/host_ceilings.h"
#include "runtime/cpu/host_target.h"
#include "runtime/device.h"
#include "runtime/out_of_memory.h"
#include "target/measured_rows.h"
#include "target/shared_launch.h"

namespace tilefuse::runtime {
namespace {

using Entry = void (*)(void *const *args, std::int64_t block, void *scratch);

constexpr std::int64_t kAlign = 64;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kPiece = 1024; // bytes of a constant that are prefetched at once
// Second-level caches that are prefetched at most; what one cannot hold goes on to the third level.
constexpr std::int64_t kPrefetchCaches = 4;

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

// Whole alignment units, so that the last vector of a page-sized buffer stays inside.
std::int64_t whole_units(std::int64_t bytes, std::int64_t align) {
  return std::max<std::int64_t>((bytes + align - 1) / align * align, align);
}

std::shared_ptr<void> allocate_here(std::int64_t bytes) {
  // The system promises more than it has, and ends those who use it.
  if (bytes >= kHugePage && bytes > free_bytes())
    throw out_of_memory("the cpu", bytes, free_bytes(), physical_bytes());
  const std::int64_t align = bytes >= kHugePage ? kHugePage : kAlign;
  const auto whole = static_cast<std::size_t>(whole_units(bytes, align));
  void *data = std::aligned_alloc(static_cast<std::size_t>(align), whole);
  if (data == nullptr)
    throw out_of_memory("the cpu", bytes, free_bytes(), physical_bytes());
  std::shared_ptr<void> owner(data, std::free);
  if (align == kHugePage)
    madvise(data, whole, MADV_HUGEPAGE);
  return owner;
}

class CpuMemory final : public Memory {
public:
  CpuMemory(const Hooks &hooks, std::int64_t bytes) : bytes_(bytes) {
    if (bytes < 0)
      throw Error(ErrorCode::Device, fmt::format("memory of {} bytes is asked for", bytes));
    data_ = hooks.allocate ? runtime::allocate(hooks, "the cpu", whole_units(bytes, kAlign), kAlign)
                           : allocate_here(bytes);
  }
  // Of the caller, who may change it between launches.
  CpuMemory(void *data, std::int64_t bytes)
      : bytes_(bytes), is_constant_(false), data_(std::shared_ptr<void>{}, data) {}

  std::int64_t bytes() const override { return bytes_; }
  std::byte *data() const { return static_cast<std::byte *>(data_.get()); }
  // Whether no loaded kernel writes here.
  bool is_constant() const { return is_constant_; }
  void mark_written() { is_constant_ = false; }

private:
  std::int64_t bytes_;
  bool is_constant_ = true;
  std::shared_ptr<void> data_;
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

// ---- subnormal numbers

// While one lives, its thread takes numbers below the smallest normal one (2^-126 of f32) as 0, and
// computes 0 in their place: an instruction that meets one takes Intel's processors 150 cycles.
// Softmax makes such numbers of masked scores (e^-100), and training of weights that decay.
class SubnormalsAreZero {
public:
  SubnormalsAreZero() : before_(get()) {
    if ((before_ & kBits) != kBits)
      set(before_ | kBits);
  }
  ~SubnormalsAreZero() {
    if ((before_ & kBits) != kBits)
      set(before_);
  }
  SubnormalsAreZero(const SubnormalsAreZero &) = delete;
  SubnormalsAreZero &operator=(const SubnormalsAreZero &) = delete;

private:
#if defined(__SSE__)
  static constexpr unsigned kBits = 0x8040; // flush to zero, denormals are zero
  static unsigned get() { return _mm_getcsr(); }
  static void set(unsigned word) { _mm_setcsr(word); }
#else
  static constexpr unsigned kBits = 0;
  static unsigned get() { return 0; }
  static void set(unsigned) {}
#endif
  unsigned before_;
};

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
      places_.push_back({nullptr, package.args[i].bytes, package.args[i].written});
      args_.push_back(nullptr);
      bind(i, bindings[i]);
    }
    blocks_ = package.blocks;
    scratch_bytes_ = package.scratch_bytes;
    flops_ = package.flops;
    bytes_ = package.bytes;
  }

  void bind(std::size_t argument, const Binding &to) {
    Place &place = places_.at(argument);
    args_[argument] = locate(to, place.bytes);
    place.memory = dynamic_cast<CpuMemory *>(to.memory);
    if (place.is_written)
      place.memory->mark_written();
  }

  std::int64_t blocks() const { return blocks_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  // Expected on one thread.
  double seconds(const Target &target) const { return one_thread_seconds(flops_, bytes_, target); }
  bool has_constants() const {
    return std::ranges::any_of(places_, [](const Place &p) { return p.memory->is_constant(); });
  }
  // Of what the kernel reads and no kernel writes, `kPiece` bytes of each argument, on their way
  // into this thread's second-level cache: piece `number` behind those that the share's blocks
  // begin with, if arguments are read in the order of blocks. How many bytes.
  std::int64_t prefetch_constants(double share, std::int64_t number) const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place &place = places_[i];
      if (!place.memory->is_constant() || number * kPiece >= place.bytes)
        continue;
      const std::int64_t pieces = (place.bytes + kPiece - 1) / kPiece;
      const auto first = static_cast<std::int64_t>(share * static_cast<double>(pieces));
      const std::byte *piece =
          static_cast<const std::byte *>(args_[i]) + (first + number) % pieces * kPiece;
      for (std::int64_t line = 0; line < kPiece; line += kAlign)
        __builtin_prefetch(piece + line, 0, 2);
      bytes += kPiece;
    }
    return bytes;
  }
  void run(std::int64_t first, std::int64_t last, void *scratch) const {
    const SubnormalsAreZero mode;
    for (std::int64_t block = first; block < last; ++block)
      entry_(args_.data(), block, scratch);
  }

private:
  struct Place { // of an argument
    CpuMemory *memory = nullptr;
    std::int64_t bytes = 0;
    bool is_written = false;
  };

  ElfImage image_;
  Entry entry_ = nullptr;
  std::vector<void *> args_;
  std::vector<Place> places_;
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
  CpuDevice(int threads, const Hooks &hooks, const Target &target,
            std::span<const MeasuredRow> measured)
      : hooks_(hooks), name_(processor_name(target, threads)),
        target_(with_measurements(target, name_, measured)), driver_(target_.isa + " elf1"),
        pool_(threads), scratch_(static_cast<std::size_t>(threads)),
        prefetched_(static_cast<std::size_t>(threads)) {
    if (hooks.queue != nullptr)
      use_queue(hooks.queue);
  }

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return driver_; }
  std::int64_t alignment() const override { return kAlign; }
  Ceilings ceilings() override {
    return host_ceilings(pool_.threads(), target_.vector_f32).value_or(stated_ceilings(target_));
  }

  std::unique_ptr<Memory> allocate(std::int64_t bytes) override {
    return std::make_unique<CpuMemory>(hooks_, bytes);
  }
  std::unique_ptr<Memory> wrap(void *address, std::int64_t bytes) override {
    return std::make_unique<CpuMemory>(address, bytes);
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

  void rebind(Launchable &kernel, std::size_t argument, const Binding &to) override {
    dynamic_cast<CpuKernel &>(kernel).bind(argument, to);
  }
  void launch(Launchable &kernel) override { run(dynamic_cast<CpuKernel &>(kernel), nullptr); }
  void launch_all(std::span<Launchable *const> kernels) override {
    const SubnormalsAreZero mode; // of this thread, once for all
    for (std::size_t k = 0; k < kernels.size(); ++k)
      run(dynamic_cast<CpuKernel &>(*kernels[k]),
          k + 1 < kernels.size() ? dynamic_cast<CpuKernel *>(kernels[k + 1]) : nullptr);
  }
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
      memory = std::make_unique<CpuMemory>(hooks_, bytes);
    scratch_bytes_ = bytes;
  }
  void *scratch(int worker) const {
    const auto &memory = scratch_[at(worker)];
    return memory == nullptr ? nullptr : memory->data();
  }

  // `next`: what is launched behind it, if known.
  void run(const CpuKernel &kernel, const CpuKernel *next) {
    const double seconds = kernel.seconds(target_);
    if (!is_shared(seconds) || kernel.blocks() <= 1 || pool_.threads() == 1)
      return kernel.run(0, kernel.blocks(), scratch(0));
    const bool has_prefetches = next != nullptr && next->has_constants();
    if (has_prefetches)
      std::fill(prefetched_.begin(), prefetched_.end(), Prefetched{});
    // Of two words, which a std::function holds itself.
    const auto body = [this, &kernel](int worker, std::int64_t first, std::int64_t last) {
      kernel.run(first, last, scratch(worker));
    };
    const auto idle = [this, next](int worker) { return prefetch(*next, worker); };
    pool_.parallel_for({.count = kernel.blocks(),
                        .at_once = blocks_at_once(kernel.blocks(), seconds, pool_.threads())},
                       body, has_prefetches ? ThreadPool::Idle(idle) : nullptr);
  }

  // A piece of the constants; whether there may be another one.
  bool prefetch(const CpuKernel &kernel, int worker) {
    Prefetched &done = prefetched_[at(worker)];
    if (done.bytes >= kPrefetchCaches * target_.l2_bytes)
      return false;
    const double share = static_cast<double>(worker) / pool_.threads();
    const std::int64_t bytes = kernel.prefetch_constants(share, done.pieces++);
    done.bytes += bytes;
    return bytes > 0;
  }

  Hooks hooks_;
  std::string name_;
  Target target_;
  std::string driver_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<CpuMemory>> scratch_; // by worker
  std::int64_t scratch_bytes_ = 0;
  struct Prefetched {
    std::int64_t pieces = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Prefetched> prefetched_; // of the next kernel, by worker
};

} // namespace

std::unique_ptr<Device> make_cpu_device(int threads, const Hooks &hooks,
                                        std::string_view instructions,
                                        std::span<const MeasuredRow> measured) {
  if (threads < 0 || threads > kMaxThreads)
    throw Error(ErrorCode::Device,
                fmt::format("{} threads asked for; 0 (all cores) to {} are possible", threads,
                            kMaxThreads));
  const int count = threads == 0 ? available_threads() : threads;
  return std::make_unique<CpuDevice>(count, hooks, host_target(count, instructions), measured);
}

} // namespace tilefuse::runtime
