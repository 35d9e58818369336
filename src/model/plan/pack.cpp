// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pack.h"

#include <cstring>

#include "base/error.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::model {
namespace {

class Packer {
public:
  Packer(const nest::Nest &nest, const schedule::Schedule &schedule, int input,
         std::span<const std::byte> from)
      : nest_(nest), layout_(pack_layout(nest, schedule, input)),
        at_(nest::flat(nest.inputs[at(input)], nest.indices.size())),
        from_type_(type_of(nest, nest.inputs[at(input)])), from_(from),
        to_type_(schedule::packed_type(nest, schedule, input)),
        to_(static_cast<std::size_t>(layout_.elems * size_bytes(to_type_))),
        values_(nest.indices.size(), 0), is_ragged_(layout_.elems != points()) {}

  program::Bytes run() {
    walk(0, at_.constant);
    return std::move(to_);
  }

private:
  // Of the box of the indices that are packed.
  std::int64_t points() const {
    Indexed<nest::IndexId, bool> known(nest_.indices.size(), false);
    std::int64_t count = 1;
    for (const schedule::PackDim &dim : layout_.dims) {
      count *= known[dim.index] ? 1 : extent(nest_, dim.index);
      known[dim.index] = true;
    }
    return count;
  }

  bool exists() const {
    for (const nest::IndexId i : values_.ids())
      if (values_[i] >= extent(nest_, i))
        return false;
    return true;
  }

  void walk(std::size_t d, std::int64_t from) {
    if (d == layout_.dims.size())
      return element(from);
    const schedule::PackDim &dim = layout_.dims[d];
    for (std::int64_t i = 0; i < dim.count; ++i) {
      walk(d + 1, from + i * dim.step * at_.coeff[dim.index]);
      values_[dim.index] += dim.step;
    }
    values_[dim.index] -= dim.count * dim.step;
  }

  void element(std::int64_t from) {
    if (!is_ragged_ || exists()) {
      if (from_type_ == DType::F32 && to_type_ == DType::F32)
        std::memcpy(to_.data() + 4 * next_, from_.data() + 4 * from, 4);
      else
        store_element(to_.data(), to_type_, next_, load_element(from_.data(), from_type_, from));
    }
    ++next_;
  }

  const nest::Nest &nest_;
  schedule::PackLayout layout_;
  nest::Linear at_;
  DType from_type_;
  std::span<const std::byte> from_;
  DType to_type_;
  program::Bytes to_;
  Indexed<nest::IndexId, std::int64_t> values_;
  bool is_ragged_; // some packed elements are no points
  std::int64_t next_ = 0;
};

} // namespace

program::Bytes pack(const nest::Nest &nest, const schedule::Schedule &schedule, int input,
                    std::span<const std::byte> from) {
  return Packer(nest, schedule, input, from).run();
}

program::Bytes pack(const poly::Group &group, const schedule::Schedule &schedule,
                    const schedule::KernelArg &arg, std::span<const std::byte> from) {
  return pack(member_nest(group, arg.member), member_schedule(schedule, arg.member),
              arg.packed_input, from);
}

} // namespace tilefuse::model
