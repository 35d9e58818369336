// SPDX-License-Identifier: Apache-2.0
// What onnxruntime calls when the library is registered: CreateEpFactories and ReleaseEpFactory,
// and the factory of providers.
#include <memory>
#include <string>

#include "ort/calls.h"
#include "ort/ort_api.h"
#include "ort/provider.h"
#include "ort/settings.h"
#include "tilefuse/tilefuse.h"

namespace tilefuse::ort {
namespace {

const std::string &version() {
  static const std::string text = [] {
    const std::uint32_t number = tf_version();
    return std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 255) + "." +
           std::to_string(number & 255);
  }();
  return text;
}

// Tensors lie in the host's memory, so that providers stand at its processor, whichever device
// computes.
void offer_devices(c::EpFactory *self, const c::HardwareDevice *const *devices, std::size_t count,
                   c::EpDevice **made, std::size_t most, std::size_t *given) {
  *given = 0;
  for (std::size_t i = 0; i < count && *given < most; ++i)
    if (api().HardwareDevice_Type(devices[i]) == c::kCpuDevice && *given == 0)
      check(ep_api().CreateEpDevice(self, devices[i], nullptr, nullptr, &made[(*given)++]));
}

class Factory : public c::EpFactory {
public:
  Factory() : c::EpFactory{} {
    ort_version_supported = c::kApiVersion;
    GetName = [](const c::EpFactory *) { return kProvider; };
    GetVendor = [](const c::EpFactory *) { return "tilefuse"; };
    GetVendorId = [](const c::EpFactory *) { return std::uint32_t{0}; };
    GetVersion = [](const c::EpFactory *) { return version().c_str(); };
    GetSupportedDevices = [](c::EpFactory *self, const c::HardwareDevice *const *devices,
                             std::size_t count, c::EpDevice **made, std::size_t most,
                             std::size_t *given) {
      return guarded([&] { offer_devices(self, devices, count, made, most, given); });
    };
    CreateEp = [](c::EpFactory *, const c::HardwareDevice *const *, const c::KeyValuePairs *const *,
                  std::size_t, const c::SessionOptions *session, const c::Logger *logger,
                  c::Ep **made) {
      return guarded(
          [&] { *made = std::make_unique<Provider>(read_settings(session), logger).release(); });
    };
    ReleaseEp = [](c::EpFactory *, c::Ep *provider) { delete static_cast<Provider *>(provider); };
    IsStreamAware = [](const c::EpFactory *) { return false; };
    // onnxruntime calls these though there is no memory of ours.
    CreateAllocator = [](c::EpFactory *, const c::MemoryInfo *, const c::KeyValuePairs *,
                         c::Allocator **made) -> c::Status * {
      *made = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](c::EpFactory *, c::Allocator *) {};
    CreateDataTransfer = [](c::EpFactory *, c::DataTransfer **made) -> c::Status * {
      *made = nullptr;
      return nullptr;
    };
  }
};

} // namespace
} // namespace tilefuse::ort

using namespace tilefuse::ort;

extern "C" __attribute__((visibility("default"))) c::Status *
CreateEpFactories(const char *, const c::ApiBase *base, const c::Logger *, c::EpFactory **factories,
                  std::size_t most, std::size_t *given) {
  if (c::Status *status = use_api(*base))
    return status;
  return guarded([&] {
    if (most < 1)
      throw Refused("there is no room for a factory");
    factories[0] = std::make_unique<Factory>().release();
    *given = 1;
  });
}

extern "C" __attribute__((visibility("default"))) c::Status *
ReleaseEpFactory(c::EpFactory *factory) {
  delete static_cast<Factory *>(factory);
  return nullptr;
}
