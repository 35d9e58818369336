// SPDX-License-Identifier: Apache-2.0
// The library's and devices' part of tilefuse.h.
#include <cstdio>
#include <cstdlib>

#include "api/c/objects.h"
#include "api/c/status.h"
#include "api/json.h"

using namespace tilefuse::api;
using namespace tilefuse::api::c;

namespace {

Log to_log(tf_log log, void *user) {
  if (log != nullptr)
    return [log, user](LogLevel level, const std::string &text) {
      log(user, level == LogLevel::Warning ? TF_LOG_WARNING : TF_LOG_INFO, text.c_str());
    };
  return [](LogLevel level, const std::string &text) {
    if (level == LogLevel::Warning)
      std::fprintf(stderr, "tilefuse: warning: %s\n", text.c_str());
  };
}

const tf_hooks &checked_hooks(const tf_hooks &hooks) {
  if (hooks.size < sizeof(tf_hooks))
    throw BadArgument{"the size of the hooks is " + std::to_string(hooks.size) + ", need " +
                      std::to_string(sizeof(tf_hooks))};
  if ((hooks.allocate == nullptr) != (hooks.release == nullptr))
    throw BadArgument{"an allocator needs both allocate and release"};
  return hooks;
}

tilefuse::runtime::Hooks to_hooks(const tf_hooks &hooks) {
  tilefuse::runtime::Hooks own;
  own.queue = hooks.queue;
  if (hooks.allocate == nullptr)
    return own;
  own.allocate = [give = hooks.allocate, user = hooks.user](size_t bytes, size_t alignment) {
    return give(user, bytes, alignment);
  };
  own.release = [take = hooks.release, user = hooks.user](void *memory, size_t bytes) {
    take(user, memory, bytes);
  };
  return own;
}

} // namespace

uint32_t tf_version(void) {
  return TF_VERSION_MAJOR << 16 | TF_VERSION_MINOR << 8 | TF_VERSION_PATCH;
}

const char *tf_status_name(tf_status status) {
  constexpr const char *kNames[] = {"ok",           "syntax error",       "type error",
                                    "shape error",  "unsupported",        "limit exceeded",
                                    "device error", "input/output error", "cancelled",
                                    "bad argument", "internal error"};
  const auto number = static_cast<std::size_t>(status);
  return number < std::size(kNames) ? kNames[number] : "no status";
}

const char *tf_error_message(void) { return last_error().message.c_str(); }
const char *tf_error_where(void) { return last_error().where.c_str(); }
const char *tf_error_notes(void) { return last_error().notes.c_str(); }

void tf_free(char *text) { std::free(text); }

void tf_release(void *handle) {
  devices().remove(handle);
  models().remove(handle);
  compiled_models().remove(handle);
  runs().remove(handle);
  trainers().remove(handle);
}

tf_status tf_options(char **json) {
  return guarded([&] {
    need(json, "json");
    *json = copy_text(to_json(option_rows()));
  });
}

tf_status tf_devices(char **json) {
  return guarded([&] {
    need(json, "json");
    *json = copy_text(to_json(find_devices()));
  });
}

tf_status tf_device_open(const char *selector, const tf_option *options, size_t count,
                         const tf_hooks *hooks, tf_device **device) {
  return guarded([&] {
    need(device, "device");
    EngineOptions wanted;
    set_all(wanted, options, count);
    const tf_hooks given = hooks == nullptr ? tf_hooks{} : checked_hooks(*hooks);
    *device =
        devices().add(std::make_shared<Engine>(selector == nullptr ? "" : selector, wanted,
                                               to_log(given.log, given.user), to_hooks(given)));
  });
}
