// SPDX-License-Identifier: Apache-2.0
// A device that runs packages: memory, builds, launches. One of the three interfaces of tilefuse.
// Work is queued in order, in a queue of the device's own or of the caller's (runtime/hooks.h); only
// write(), read() and finish() wait. A device is used from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "package/package.h"
#include "target/ceilings.h"
#include "target/target.h"

namespace tilefuse::runtime {

// Device memory, freed with its owner. Sub-ranges are addressed by byte offsets that are multiples
// of Device::alignment.
class Memory {
public:
  virtual ~Memory() = default;
  virtual std::int64_t bytes() const = 0;
};

struct Binding {
  Memory *memory = nullptr;
  std::int64_t offset = 0; // bytes
  std::int64_t bytes = 0;  // visible from offset
};

// When the device ran one launch, in its own seconds since the first launch of the list began.
struct LaunchTime {
  double begin = 0;
  double end = 0;
  double seconds() const { return end - begin; }
};

// A loaded kernel with bound arguments, ready to launch many times.
class Launchable {
public:
  virtual ~Launchable() = default;
};

// A place in a queue, behind all that was queued before it.
class Mark {
public:
  virtual ~Mark() = default;
  // Until that has ended.
  virtual void wait() = 0;
  // The cl_event or CUevent that it is, the caller's from then on; nothing else is done with it then.
  virtual void *release() = 0;
};

struct Timeline; // timeline.h
class Recorded;

class Device {
public:
  virtual ~Device() = default;

  virtual const Target &target() const = 0;
  virtual const std::string &name() const = 0;   // "AMD EPYC (2 cores, AVX2)"
  virtual const std::string &driver() const = 0; // part of the cache key of built code
  virtual std::int64_t alignment() const = 0;    // bytes, of Binding::offset
  // Measured now where the device can, as its clock allows; what the target states elsewhere.
  virtual Ceilings ceilings() { return stated_ceilings(target()); }

  virtual std::unique_ptr<Memory>
  allocate(std::int64_t bytes) = 0; // contents undefined; Error{Device} when full
  // Memory that the caller owns, as kernels can use it where it lies: an address of the host on the
  // cpu, of the device on CUDA, a cl_mem of OpenCL. Null where the device has no use for such an
  // address; Error{Device} for a cl_mem that is smaller, a part of another or of another context. The
  // caller's memory outlives the result.
  virtual std::unique_ptr<Memory> wrap(void *address, std::int64_t bytes) {
    static_cast<void>(address);
    static_cast<void>(bytes);
    return nullptr;
  }
  virtual void write(const Binding &to, std::span<const std::byte> from) = 0;
  virtual void read(const Binding &from, std::span<std::byte> to) = 0;
  virtual void fill_zero(const Binding &to) = 0;
  // Whether write_beside() overlaps with kernels; where it does not, it waits for them as write().
  virtual bool overlaps_writes() const { return false; }
  // Writes to memory that nothing which is queued touches.
  virtual void write_beside(const Binding &to, std::span<const std::byte> from) { write(to, from); }
  // Copies behind what is queued, all of `from`. For devices whose writes overlap.
  virtual void copy(const Binding &from, const Binding &to);

  // Turns source packages into ones that load without compiling, several at a time where the driver
  // can. Packages that need no build come back as they are. Error{Device} carries the kernel's name
  // and the driver's log.
  virtual std::vector<Package> build(std::vector<Package> packages) = 0;
  // Loads one built package. Bindings are by argument position.
  virtual std::unique_ptr<Launchable> load(const Package &built,
                                           std::span<const Binding> bindings) = 0;

  // Lets an argument of a loaded kernel lie elsewhere from the next launch on. For devices that
  // wrap memory.
  virtual void rebind(Launchable &kernel, std::size_t argument, const Binding &to);

  virtual void launch(Launchable &kernel) = 0;
  // All of them in order; one call of the driver where it can hold a list of launches.
  virtual void launch_all(std::span<Launchable *const> kernels) {
    for (Launchable *kernel : kernels)
      launch(*kernel);
  }
  // Launches with what runs beside them, for many runs; the device and all that is named outlive the
  // result.
  virtual std::unique_ptr<Recorded> record(Timeline timeline);
  virtual void finish() = 0;
  // Work is queued in `queue` of the caller's from now on; null: where it was when the device was
  // made. Error{Unsupported} where the device has no queues, Error{Device} for a queue of another
  // device or context, or one that takes its work in any order.
  virtual void use_queue(void *queue);
  // A mark behind all that was queued in the queue in use. For devices that have queues.
  virtual std::unique_ptr<Mark> mark();
  // What is queued in the queue in use from now on begins once the mark, of any queue of this device,
  // is reached. The host does not wait.
  virtual void begin_behind(Mark &mark);
  // Runs the kernels once, in order, and waits for them. Work queued before is not waited for
  // first, so that a device that is busy with it runs the list without gaps from sending.
  virtual std::vector<LaunchTime> trace(std::span<Launchable *const> kernels) = 0;
  // Device seconds of each, begun on an idle device.
  std::vector<double> time_each(std::span<Launchable *const> kernels);
  // Runs the kernels once, behind what is queued, and returns device seconds from the first one's
  // start to the last one's end where the driver can tell. `together`: as launch_all() does.
  virtual double time_all(std::span<Launchable *const> kernels, bool together) {
    double seconds = 0;
    static_cast<void>(together);
    for (const double each : time_each(kernels))
      seconds += each;
    return seconds;
  }
};

// What was found on this machine, and what was rejected and why.
struct DeviceEntry {
  std::string selector; // "cpu", "opencl:0:0"
  std::string name;
  std::string rejected; // empty: usable
};

} // namespace tilefuse::runtime
