// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_build.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/opencl/opencl_ptx.h"

namespace tilefuse::runtime {
namespace {

constexpr std::size_t kKernelsPerPoclProgram = 16;
constexpr std::size_t kMaxLog = 4000;
constexpr std::int64_t kPoclSmallGrid =
    65536; // PoCL has other code for grids below this many work-items

// On a processor subnormal numbers are zero, as they are on the cpu device: they are as slow here.
// A program says so in its text's options and again where it is loaded.
const char *number_options(const OpenclContext &cx) {
  return (cx.info.type & CL_DEVICE_TYPE_CPU) != 0 ? " -cl-denorms-are-zero" : "";
}

// -w: no warnings on the standard error of the program.
std::string options_of(const OpenclContext &cx, const std::vector<const Package *> &packages) {
  const bool counts = std::any_of(packages.begin(), packages.end(),
                                  [](const Package *package) { return package->counts > 0; });
  std::string_view standard = "CL1.2";
  if (counts && cx.info.device_atomics && cx.info.nvidia_generation == 0)
    standard = cx.info.version.starts_with("OpenCL 2.") ? "CL2.0" : "CL3.0";
  return fmt::format("-cl-std={} -w{}", standard, number_options(cx));
}

std::string build_log(const OpenclContext &cx, cl_program program) {
  std::size_t size = 0;
  if (cx.api.clGetProgramBuildInfo(program, cx.info.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
      CL_SUCCESS)
    return {};
  std::string log(size, '\0');
  if (cx.api.clGetProgramBuildInfo(program, cx.info.id, CL_PROGRAM_BUILD_LOG, size, log.data(),
                                   nullptr) != CL_SUCCESS)
    return {};
  log.resize(std::min({log.find('\0'), log.size(), kMaxLog}));
  return log;
}

[[noreturn]] void build_failed(const OpenclContext &cx, cl_program program, const Package &package,
                               cl_int code) {
  const std::string log = build_log(cx, program);
  throw Error(ErrorCode::Device,
              fmt::format("{} ({}) cannot build the kernel: clBuildProgram failed with {}",
                          cx.info.name, cx.info.platform_name, opencl_error_name(code)),
              package.name,
              log.empty() ? std::vector<std::string>{}
                          : std::vector<std::string>{"the driver said: " + log});
}

std::string binary_of(const OpenclContext &cx, cl_program program) {
  std::size_t size = 0;
  check(cx.api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
        "clGetProgramInfo(CL_PROGRAM_BINARY_SIZES)");
  if (size == 0)
    throw Error(ErrorCode::Device, fmt::format("{} gives no program binary", cx.info.name));
  std::string binary(size, '\0');
  auto *to = reinterpret_cast<unsigned char *>(binary.data());
  check(cx.api.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr),
        "clGetProgramInfo(CL_PROGRAM_BINARIES)");
  return binary;
}

// The program of a binary and what the driver said to it.
ProgramHandle program_of(const OpenclContext &cx, const std::string &binary, cl_int &code) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(binary.data());
  const std::size_t size = binary.size();
  cl_int status = CL_SUCCESS;
  ProgramHandle program{cx.api, cx.api.clCreateProgramWithBinary(cx.context.get(), 1, &cx.info.id,
                                                                 &size, &bytes, &status, &code)};
  code = code == CL_SUCCESS ? status : code;
  if (code == CL_SUCCESS)
    code =
        cx.api.clBuildProgram(program.get(), 1, &cx.info.id, number_options(cx), nullptr, nullptr);
  return program;
}

// Where the driver's text can ask for registers, the text that does so, if the driver takes it.
std::string with_registers(const OpenclContext &cx, std::string binary) {
  std::string asking = ask_for_one_block(binary);
  cl_int code = CL_SUCCESS;
  if (asking == binary)
    return binary;
  program_of(cx, asking, code);
  return code == CL_SUCCESS ? asking : binary;
}

// Runs one group of each kernel on memory of its own, so that PoCL has compiled all that a launch
// needs.
class PoclWarmUp {
public:
  explicit PoclWarmUp(const OpenclContext &cx) : cx_(cx) {
    cl_int code = CL_SUCCESS;
    queue_ = {cx.api, cx.api.clCreateCommandQueue(cx.context.get(), cx.info.id, 0, &code)};
  }
  // What fails here costs time at the first launch and nothing else.
  void run(cl_program program, const Package &package) {
    cl_int code = CL_SUCCESS;
    const KernelHandle kernel{cx_.api,
                              cx_.api.clCreateKernel(program, package.symbol.c_str(), &code)};
    if (code != CL_SUCCESS || !queue_)
      return;
    if (package.counts > 0)
      return;
    for (std::size_t i = 0; i < package.args.size(); ++i) {
      const cl_mem memory = buffer(i, package.args[i].bytes);
      if (memory == nullptr || set_argument(cx_.api, kernel.get(), i, memory, 0) != CL_SUCCESS)
        return;
    }
    const std::int64_t groups = package.blocks < kPoclSmallGrid / package.block_size
                                    ? 1
                                    : kPoclSmallGrid / package.block_size;
    const auto local = static_cast<std::size_t>(package.block_size);
    const std::size_t global = static_cast<std::size_t>(groups) * local;
    cx_.api.clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &global, &local, 0,
                                   nullptr, nullptr);
    cx_.api.clFinish(queue_.get());
  }

private:
  // Null where the device has not so much.
  cl_mem buffer(std::size_t position, std::int64_t bytes) {
    if (position >= buffers_.size())
      buffers_.resize(position + 1);
    Buffer &held = buffers_[position];
    if (!held.memory || held.bytes < bytes) {
      cl_int code = CL_SUCCESS;
      held.bytes = std::max<std::int64_t>(bytes, 1);
      held.memory = {cx_.api,
                     cx_.api.clCreateBuffer(cx_.context.get(), CL_MEM_READ_WRITE,
                                            static_cast<std::size_t>(held.bytes), nullptr, &code)};
      if (!held.memory)
        held.bytes = 0;
    }
    return held.memory.get();
  }
  struct Buffer {
    MemHandle memory;
    std::int64_t bytes = 0;
  };
  const OpenclContext &cx_;
  QueueHandle queue_;
  std::vector<Buffer> buffers_;
};

// Packages of one group become binaries: one program, whose binary all of them hold.
void build_group(const OpenclContext &cx, const std::vector<Package *> &group,
                 PoclWarmUp *warm_up) {
  const ProgramHandle program = build_source(cx, {group.begin(), group.end()});
  if (warm_up != nullptr)
    for (const Package *package : group)
      warm_up->run(program.get(), *package);
  const std::string binary = with_registers(cx, binary_of(cx, program.get()));
  for (Package *package : group) {
    package->code = binary;
    package->format = CodeFormat::OpenclBinary;
  }
}

// Consecutive packages with different symbols, at most `limit` each.
std::vector<std::vector<Package *>> groups_of(std::vector<Package> &packages, std::size_t limit) {
  std::vector<std::vector<Package *>> groups;
  for (Package &package : packages) {
    const auto fits = [&](const std::vector<Package *> &group) {
      return group.size() < limit &&
             std::none_of(group.begin(), group.end(),
                          [&](const Package *other) { return other->symbol == package.symbol; });
    };
    const auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group != groups.end())
      group->push_back(&package);
    else
      groups.push_back({&package});
  }
  return groups;
}

} // namespace

std::shared_ptr<OpenclContext> open_context(const OpenclApi &api, const OpenclDeviceInfo &info) {
  cl_int code = CL_SUCCESS;
  ContextHandle context{api, api.clCreateContext(nullptr, 1, &info.id, nullptr, nullptr, &code)};
  check(code, fmt::format("clCreateContext for {}", info.name));
  return std::make_shared<OpenclContext>(OpenclContext{api, info, std::move(context)});
}

ProgramHandle build_source(const OpenclContext &cx, const std::vector<const Package *> &packages) {
  std::vector<const char *> texts;
  std::vector<std::size_t> sizes;
  for (const Package *package : packages) {
    texts.push_back(package->code.data());
    sizes.push_back(package->code.size());
  }
  cl_int code = CL_SUCCESS;
  ProgramHandle program{
      cx.api, cx.api.clCreateProgramWithSource(cx.context.get(), static_cast<cl_uint>(texts.size()),
                                               texts.data(), sizes.data(), &code)};
  check(code, "clCreateProgramWithSource");
  code = cx.api.clBuildProgram(program.get(), 1, &cx.info.id, options_of(cx, packages).c_str(),
                               nullptr, nullptr);
  if (code == CL_SUCCESS)
    return program;
  if (packages.size() == 1)
    build_failed(cx, program.get(), *packages.front(), code);
  for (const Package *package : packages)
    build_source(cx, {package}); // finds the one that fails
  check(code, "clBuildProgram of several kernels");
  return program;
}

cl_int set_argument(const OpenclApi &api, cl_kernel kernel, std::size_t position, cl_mem memory,
                    std::int64_t offset) {
  const auto first = static_cast<cl_uint>(2 * position);
  const auto bytes = static_cast<cl_ulong>(offset);
  const cl_int code = api.clSetKernelArg(kernel, first, sizeof memory, &memory);
  return code != CL_SUCCESS ? code : api.clSetKernelArg(kernel, first + 1, sizeof bytes, &bytes);
}

ProgramHandle load_binary(const OpenclContext &cx, const Package &package) {
  cl_int code = CL_SUCCESS;
  ProgramHandle program = program_of(cx, package.code, code);
  if (code != CL_SUCCESS && program)
    build_failed(cx, program.get(), package, code);
  check(code, fmt::format("clCreateProgramWithBinary for kernel '{}'", package.name));
  return program;
}

std::vector<Package> build_in_process(const OpenclContext &cx, std::vector<Package> packages) {
  const bool is_pocl = cx.info.is_pocl();
  PoclWarmUp warm_up(cx);
  for (const std::vector<Package *> &group :
       groups_of(packages, is_pocl ? kKernelsPerPoclProgram : 1))
    build_group(cx, group, is_pocl ? &warm_up : nullptr);
  return packages;
}

} // namespace tilefuse::runtime
