// SPDX-License-Identifier: Apache-2.0
// CUDA C++ for the C-like printer, as NVRTC compiles it without headers. Vectors and the memory
// forms of half types come from the prologue.
//
// From Hopper on a kernel may be started before the one in front of it has ended
// (runtime/cuda/cuda_device.cpp): it awaits that one's end and results, and lets its own successor
// be started. So nothing is read or written before its time, and no launch is waited for: the
// successor awaits this kernel's end, and so that of all before it. One that does nothing ahead
// lets its successor start first, the others behind the wait: blocks of the successor's successor
// would take multiprocessors that its own are to have.
#include "emit/c/cuda.h"

#include <fmt/format.h>

#include "emit/c/c_align.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_guarded.h"
#include "emit/c/c_like.h"
#include "emit/c/c_memory.h"
#include "emit/c/c_names.h"
#include "emit/c/c_program.h"
#include "emit/c/coarse_math.h"
#include "emit/c/cuda_intrinsics.h"
#include "emit/c/cuda_prologue.h"
#include "emit/c/cuda_tensor_prologue.h"
#include "emit/c/cuda_words.h"
#include "emit/c/nvidia_asm.h"
#include "kernel/walk.h"
#include "target/features.h"

namespace tilefuse::emit {
namespace {

using kernel::Kernel;
using kernel::Type;

constexpr std::int64_t kDeclaredBytes = 48 << 10; // of local memory at most; more comes by launch

constexpr CWords kWords = {
    .name = "CUDA C++",
    .helper = "static __device__ __forceinline__",
    .outlined = "static __device__ __noinline__",
    .global_space = "",
    .local_space = "",
    .local_array = "__shared__ __align__(128) ",
    .private_space = "",
    .restrict_word = "__restrict__",
    .block_index = "blockIdx.x",
    .lane_index = "threadIdx.x",
    .bytes = "tf_bytes_",
    .by_element = true,
    .select_registers = 96,
};

// The part of a memory form's function names: tf_half, tf_load_half, tf_store_half.
std::string form(DType elem) {
  const std::string_view form = traits(elem).c_form;
  return form.empty() ? std::string() : fmt::format("_{}", form);
}

class CudaEmitter final : public CEmitter {
public:
  Package emit(const Kernel &kernel, const Target &target) const override {
    Package package = c_like_package(kernel, target, *this, {});
    package.format = CodeFormat::CudaSource;
    return package;
  }

  const CWords &words() const override { return kWords; }

  std::string unit(CContext &cx, const ProgramText &text) const override {
    const Kernel &kernel = cx.kernel;
    CProgram program{.prologue = std::string(kCudaPrologue)};
    if (!kernel.maps.empty())
      program.prologue += kCudaTensorPrologue;
    program.entry =
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1)", kernel.block_size);
    if (kernel.cluster != 1)
      program.entry += fmt::format(" __cluster_dims__({}, 1, 1)", kernel.cluster);
    program.parameters = cuda_map_parameters(kernel);
    // A later kernel starts once all before this one have ended: what they read of memory that this
    // one writes anew would else stay in the cache of a multiprocessor that the later one reads.
    if (!awaits_earlier(kernel))
      program.begin = fmt::format("  {}\n  {}\n", kCudaAwaitEarlier, kCudaLetLater);
    program.prepare = cuda_fetch_maps(kernel);
    if (launch_bytes(kernel) > 0)
      program.sized_local =
          fmt::format("extern __shared__ __align__({}) uchar tf_local[];", local_align(kernel));
    return c_program(cx, text, program);
  }

  std::int64_t launch_bytes(const Kernel &kernel) const override {
    const std::int64_t bytes = local_bytes(kernel);
    return bytes > kDeclaredBytes || !kernel.maps.empty() ? bytes : 0;
  }

  std::string barrier(const CContext &, const kernel::Barrier &node) const override {
    if (node.id != 0)
      return fmt::format("asm volatile(\"bar.sync {}, {};\" ::: \"memory\");", node.id, node.items);
    return node.is_of_cluster() ? "tf_cluster_barrier();"
           : node.is_of_warp()  ? "__syncwarp();"
                                : "__syncthreads();";
  }

  std::string prefetch(const std::string &pointer) const override {
    return fmt::format("asm volatile(\"prefetch.global.L2 [%0];\" ::\"l\"({}));", pointer);
  }

  std::vector<std::string> intrinsic(CContext &cx, const kernel::Intrinsic &node) const override {
    return cuda_intrinsic(cx, node);
  }

  std::string vector(const std::string &elem, int lanes) const override {
    return fmt::format("tf_vec<{}, {}>", elem, lanes);
  }

  std::string coarse_function(CContext &cx, ScalarOp op, const Type &) const override {
    const std::string name = fmt::format("tf_coarse_{}", row(op).name);
    if (op == ScalarOp::Erf)
      cx.helpers.emplace(name, fmt::format("TF float {0}(float x) {1}\nTF_MATH({0})\n", name,
                                           coarse_erf("float", "tf_exp2", "fma({0}, {1}, {2})")));
    return name;
  }

  std::string compose(const std::string &vector_type, const std::string &lanes) const override {
    return fmt::format("tf_maker<{}>::of({})", vector_type, lanes);
  }

  std::string lane(const std::string &value, int lane) const override {
    return fmt::format("{}.v[{}]", value, lane);
  }

  std::string select(int lanes, const std::string &condition, const std::string &a,
                     const std::string &b) const override {
    return lanes == 1 ? CEmitter::select(lanes, condition, a, b)
                      : fmt::format("tf_select({}, {}, {})", condition, a, b);
  }

  std::string convert(const Type &from, const Type &to, const std::string &value) const override {
    const std::string to_name = type_name(to);
    return type_name(from) == to_name ? value : fmt::format("tf_convert<{}>({})", to_name, value);
  }

  std::string word(const Type &type, const std::string &value) const override {
    return type.elem == DType::F32 ? fmt::format("__float_as_uint({})", value)
                                   : fmt::format("tf_word{}({})", form(type.elem), value);
  }

  std::string dot(CContext &cx, const kernel::Dot &node, int lanes) const override {
    return lanes == 1 ? nvidia_dot(cx, node, "{}.w[0]") : CEmitter::dot(cx, node, lanes);
  }

  bool has_round_convert(const CContext &cx) const override {
    return has(cx.target, Feature::PackedRounding);
  }

  std::string round_convert(const Type &to, const std::string &value, std::optional<double> low,
                            std::optional<double> high) const override {
    std::string text = value;
    if (low)
      text = fmt::format("tf_no_less({}, {:.1f}f)", text, *low);
    if (high)
      text = fmt::format("tf_no_more({}, {:.1f}f)", text, *high);
    return fmt::format("tf_rounded<{}>({})", traits(to.elem).c_bits, text);
  }

  std::string load(DType elem, int lanes, const std::string &base,
                   const std::string &index) const override {
    if (lanes > 1)
      return fmt::format("tf_load{}<{}>({} + ({}))", form(elem), lanes, base, index);
    const std::string element = fmt::format("{}[{}]", base, index);
    if (elem == DType::Bool)
      return fmt::format("({} != 0)", element);
    return form(elem).empty() ? element : fmt::format("tf{}({})", form(elem), element);
  }

  std::string store(DType elem, int lanes, const std::string &base, const std::string &index,
                    const std::string &value) const override {
    if (lanes > 1)
      return fmt::format("tf_store{}<{}>({} + ({}), {})", form(elem), lanes, base, index, value);
    if (elem == DType::Bool)
      return fmt::format("{}[{}] = (uchar)({} != 0)", base, index, value);
    if (form(elem).empty())
      return fmt::format("{}[{}] = {}", base, index, value);
    return fmt::format("{}[{}] = tf{}_bits({})", base, index, form(elem), value);
  }

  std::string guarded_load(CContext &cx, const Type &type,
                           const kernel::Load &load) const override {
    if (!is_aligned(cx, type, load))
      return load_by_helper(cx, type, load);
    return fmt::format("tf_part{}<{}>({} + ({}), {}, {})", form(cx.kernel[load.buffer].type.elem),
                       type.lanes, buffer_name(cx, load.buffer), bare(expression(cx, load.index)),
                       bare(expression(cx, load.valid)), fill_literal(cx, type, load.fill));
  }

  std::string guarded_store(CContext &cx, const kernel::Store &store,
                            const std::string &value) const override {
    const Type &type = store.value->type;
    const kernel::Load at{
        .buffer = store.buffer, .index = store.index, .lane_stride = store.lane_stride};
    if (!is_aligned(cx, type, at))
      return store_by_helper(cx, store, value);
    return fmt::format("tf_store_part{}<{}>({} + ({}), {}, {});",
                       form(cx.kernel[store.buffer].type.elem), type.lanes,
                       buffer_name(cx, store.buffer), bare(expression(cx, store.index)),
                       bare(value), bare(expression(cx, store.valid)));
  }

  bool has_wide(const CContext &, const Type &type) const override {
    return type.elem != DType::Bool;
  }

  std::string wide_load(const CContext &, const VectorText &at) const override {
    return fmt::format("tf_wide{}<{}>({} + ({}))", form(at.buffer.type.elem), at.type.lanes,
                       at.base, at.index);
  }

  // Half types are converted behind the condition and not under it: a predicate register that has
  // to last until a read has arrived is one of seven, so that few reads would be under way.
  std::string conditional_load(const CContext &, const VectorText &at, const std::string &condition,
                               const std::string &fill) const override {
    if (form(at.buffer.type.elem).empty())
      return {};
    const std::string width = at.type.lanes == 1 ? "" : fmt::format("<{}>", at.type.lanes);
    return fmt::format("tf_{}_if{}{}({} + ({}), {}, {})", at.type.lanes == 1 ? "one" : "wide",
                       form(at.buffer.type.elem), width, at.base, at.index, condition, fill);
  }

  std::string wide_store(const CContext &, const VectorText &at,
                         const std::string &value) const override {
    return fmt::format("tf_store_wide{}<{}>({} + ({}), {})", form(at.buffer.type.elem),
                       at.type.lanes, at.base, at.index, value);
  }

  bool has_words() const override { return true; }

  std::string load_words(CContext &cx, const kernel::Let &let) const override {
    const auto &load = std::get<kernel::Load>(let.value->node);
    const int lanes = let.value->type.lanes;
    return this->let(vector("uint", lanes / 2), variable_name(let.var),
                     words_text(cx, load, lanes));
  }

  std::string store_words(CContext &cx, const kernel::Store &store,
                          kernel::VarId var) const override {
    return fmt::format("tf_store_wide<{}>((uint*)({} + ({})), {});", store.value->type.lanes / 2,
                       buffer_name(cx, store.buffer), bare(expression(cx, store.index)),
                       variable_name(var));
  }

  std::string pointer_of_rank(const std::string &pointer, const std::string &rank) const override {
    return fmt::format("tf_of_rank({}, {})", pointer, rank);
  }

private:
  std::string type_name(const Type &type) const {
    const std::string elem = value_elem(type.elem);
    return type.lanes == 1 ? elem : vector(elem, type.lanes);
  }
};

} // namespace

std::unique_ptr<Emitter> make_cuda_emitter() { return std::make_unique<CudaEmitter>(); }

} // namespace tilefuse::emit
