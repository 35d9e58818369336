// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_workers.h"

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/nccl_api.h"

namespace tilefuse::runtime {
namespace {

using nccl::check;

const nccl::Api &opened_api() {
  std::string why;
  const nccl::Api *api = nccl::api(&why);
  if (api == nullptr)
    throw Error(ErrorCode::Device, why);
  return *api;
}

class NcclWorkers final : public Workers {
public:
  NcclWorkers(const NcclPlace &place, Device &device)
      : api_(opened_api()), device_(device), rank_(place.rank), count_(place.count) {
    nccl::UniqueId id;
    std::string text(sizeof id.bytes, '\0');
    if (rank_ == 0) {
      check(api_, api_.ncclGetUniqueId(&id), "ncclGetUniqueId");
      text.assign(id.bytes, sizeof id.bytes);
    }
    text = place.broadcast(text);
    TILEFUSE_CHECK(text.size() == sizeof id.bytes, "what was sent is no id of NCCL's");
    std::copy(text.begin(), text.end(), id.bytes);
    static_cast<void>(cuda_stream(device_)); // its context becomes this thread's
    check(api_, api_.ncclCommInitRank(&communicator_, count_, id, rank_), "ncclCommInitRank");
  }
  // Where an exception is under way the others may not come to what is queued.
  ~NcclWorkers() override {
    if (std::uncaught_exceptions() == 0)
      api_.ncclCommDestroy(communicator_);
    else
      api_.ncclCommAbort(communicator_);
  }
  NcclWorkers(const NcclWorkers &) = delete;
  NcclWorkers &operator=(const NcclWorkers &) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  bool overlaps() const override { return true; }

  void swap_parts(const Binding &from, const Binding &to) override {
    const cuda::Stream stream = cuda_stream(device_);
    const std::int64_t part = from.bytes / count_;
    const auto bytes = static_cast<std::size_t>(part);
    check(api_, api_.ncclGroupStart(), "ncclGroupStart");
    for (int other = 0; other < count_; ++other) {
      if (other == rank_)
        continue;
      check(api_,
            api_.ncclSend(address(from, other * part), bytes, nccl::kInt8, other, communicator_,
                          stream),
            "ncclSend");
      check(api_,
            api_.ncclRecv(address(to, other * part), bytes, nccl::kInt8, other, communicator_,
                          stream),
            "ncclRecv");
    }
    check(api_, api_.ncclGroupEnd(), "ncclGroupEnd");
  }

  void gather_parts(const Binding &all) override {
    const std::int64_t part = all.bytes / count_;
    check(api_,
          api_.ncclAllGather(address(all, rank_ * part), address(all, 0),
                             static_cast<std::size_t>(part), nccl::kInt8, communicator_,
                             cuda_stream(device_)),
          "ncclAllGather");
  }

  void sum(const Binding &all) override {
    check(api_,
          api_.ncclAllReduce(address(all, 0), address(all, 0),
                             static_cast<std::size_t>(all.bytes) / sizeof(float), nccl::kFloat32,
                             nccl::kSum, communicator_, cuda_stream(device_)),
          "ncclAllReduce");
  }

private:
  static void *address(const Binding &binding, std::int64_t offset) {
    return reinterpret_cast<void *>(cuda_address(binding) + static_cast<cuda::DevicePtr>(offset));
  }

  const nccl::Api &api_;
  Device &device_;
  int rank_;
  int count_;
  nccl::Communicator communicator_ = nullptr;
};

} // namespace

std::unique_ptr<Workers> make_nccl_workers(const NcclPlace &place, Device &device) {
  return std::make_unique<NcclWorkers>(place, device);
}

} // namespace tilefuse::runtime
