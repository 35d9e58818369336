// SPDX-License-Identifier: Apache-2.0
// Calls of onnxruntime's functions and by onnxruntime: its statuses become exceptions on our side,
// and ours become its statuses.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "ort/ort_api.h"

namespace tilefuse::ort {

// The functions of the onnxruntime that loaded the plugin; use_api() first.
const c::Api &api();
const c::EpApi &ep_api();
// A status where it is older than the interface that is needed here.
c::Status *use_api(const c::ApiBase &base);

// What onnxruntime refused, in its words.
class Refused : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// Releases a status; throws Refused for one that is not null.
void check(c::Status *status);

// The status of the exception that is being handled.
c::Status *status_of_exception() noexcept;

// Runs what must not throw across the border.
template <class Function> c::Status *guarded(const Function &function) noexcept {
  try {
    function();
    return nullptr;
  } catch (...) {
    return status_of_exception();
  }
}

// What a pair of functions, one for the count and one for all, gives of an object.
template <class Item, class Object>
std::vector<Item> list(c::Status *(*count_of)(const Object *, std::size_t *),
                       c::Status *(*get)(const Object *, Item *, std::size_t),
                       const Object *object) {
  std::size_t count = 0;
  check(count_of(object, &count));
  std::vector<Item> items(count);
  if (count > 0)
    check(get(object, items.data(), count));
  return items;
}

// A text that a function gives of an object.
template <class Object>
std::string text(c::Status *(*get)(const Object *, const char **), const Object *object) {
  const char *found = nullptr;
  check(get(object, &found));
  return found == nullptr ? "" : found;
}

} // namespace tilefuse::ort
