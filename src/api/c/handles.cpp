// SPDX-License-Identifier: Apache-2.0
#include "api/c/handles.h"

#include <atomic>

namespace tilefuse::api::c {

std::uintptr_t next_handle() noexcept {
  static std::atomic<std::uintptr_t> last{0};
  return ++last;
}

} // namespace tilefuse::api::c
