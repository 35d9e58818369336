// SPDX-License-Identifier: Apache-2.0
// Loads an x86-64 ELF relocatable object into memory and links it: one mapping of three parts, each
// a whole number of pages (code and stubs: read, execute; constants and the table of addresses:
// read; data: read, write). No page is ever writable and executable at once.
//
// An object may come from a damaged cache file, so every offset, size and index in it is checked; a
// wrong one is Error{Io} that names it. What the instructions do is not checked. Undefined symbols
// are found in a fixed list only: the memory functions and the elementary functions that code
// generation calls.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace tilefuse::runtime {

class ElfImage {
public:
  // `object` is copied; nothing of it is kept. Error{Io} on damage, Error{Device} when memory is
  // refused.
  explicit ElfImage(std::string_view object);

  // The address of a function that the object defines; Error{Io} when there is none of this name.
  void *function(const std::string &symbol) const;

private:
  friend class ElfLinker;
  // Pages of the image, given back with it.
  struct Mapping {
    Mapping() = default;
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
    ~Mapping();
    std::byte *base = nullptr;
    std::size_t bytes = 0;
  };
  Mapping mapping_;
  std::map<std::string, void *, std::less<>> functions_;
};

} // namespace tilefuse::runtime
