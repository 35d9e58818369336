// SPDX-License-Identifier: Apache-2.0
// Handles of the C interface. A handle is a number that is given once and never again, not an
// address: one that was released, was never given or is of another kind is told from one that
// lives, always. Who looks a handle up shares the object, so that a release on another thread takes
// nothing away from under a call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "api/c/status.h"

namespace tilefuse::api::c {

// The next number, never 0.
std::uintptr_t next_handle() noexcept;

template <class Opaque, class Object> class Handles {
public:
  // `kind` is for messages: "tf_run".
  explicit Handles(const char *kind) : kind_(kind) {}

  Opaque *add(std::shared_ptr<Object> object) {
    const std::uintptr_t number = next_handle();
    const std::unique_lock lock(mutex_);
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Opaque *>(number);
  }
  // BadArgument for a handle that does not live.
  std::shared_ptr<Object> find(const Opaque *handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end())
      throw BadArgument{handle == nullptr
                            ? std::string("the ") + kind_ + " is a null pointer"
                            : std::string("this is no ") + kind_ + ", or it was released"};
    return found->second;
  }
  // Null for one that is none of these.
  std::shared_ptr<Object> look(const void *handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  // The object, for the caller to let go; null where there is none.
  std::shared_ptr<Object> remove(const void *handle) noexcept {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end())
      return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

private:
  const char *kind_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

} // namespace tilefuse::api::c
