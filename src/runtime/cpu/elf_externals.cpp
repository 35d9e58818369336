// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/elf_externals.h"

#include <array>
#include <cmath>
#include <cstring>

namespace tilefuse::runtime::elf {
namespace {

struct External {
  std::string_view name;
  Address address;
};

template <class Result, class... Args> Address address_of(Result (*function)(Args...)) {
  return reinterpret_cast<Address>(function);
}

using D1 = double (*)(double);
using D2 = double (*)(double, double);

// Everything that generated code may call.
const std::array<External, 23> &externals() {
  static const std::array<External, 23> table = {{
      {"memcpy",
       address_of(static_cast<void *(*)(void *, const void *, std::size_t)>(std::memcpy))},
      {"memmove",
       address_of(static_cast<void *(*)(void *, const void *, std::size_t)>(std::memmove))},
      {"memset", address_of(static_cast<void *(*)(void *, int, std::size_t)>(std::memset))},
      {"expf", address_of(::expf)},
      {"logf", address_of(::logf)},
      {"tanhf", address_of(::tanhf)},
      {"erff", address_of(::erff)},
      {"sinf", address_of(::sinf)},
      {"cosf", address_of(::cosf)},
      {"powf", address_of(::powf)},
      {"fmodf", address_of(::fmodf)},
      {"sqrtf", address_of(::sqrtf)},
      {"floorf", address_of(::floorf)},
      {"exp", address_of(static_cast<D1>(std::exp))},
      {"log", address_of(static_cast<D1>(std::log))},
      {"tanh", address_of(static_cast<D1>(std::tanh))},
      {"erf", address_of(static_cast<D1>(std::erf))},
      {"sin", address_of(static_cast<D1>(std::sin))},
      {"cos", address_of(static_cast<D1>(std::cos))},
      {"pow", address_of(static_cast<D2>(std::pow))},
      {"fmod", address_of(static_cast<D2>(std::fmod))},
      {"sqrt", address_of(static_cast<D1>(std::sqrt))},
      {"floor", address_of(static_cast<D1>(std::floor))},
  }};
  return table;
}

} // namespace

std::optional<Address> find_external(std::string_view name) {
  for (const External &external : externals())
    if (external.name == name)
      return external.address;
  return std::nullopt;
}

} // namespace tilefuse::runtime::elf
