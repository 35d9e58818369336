// SPDX-License-Identifier: Apache-2.0
// What Debian 12's archives ask of its glibc 2.36 and older ones lack or have under another version;
// hidden by the list of symbols of the library it is linked into.
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object *found;
};

// Whether the object holds the address; then where it lies and its table of frames.
int look_into(dl_phdr_info *info, std::size_t, void *of) {
  auto *search = static_cast<Search *>(of);
  bool is_inside = false;
  void *frames = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME)
      frames = reinterpret_cast<void *>(begin);
    if (header.p_type != PT_LOAD || search->address - begin >= header.p_memsz)
      continue;
    is_inside = true;
    search->found->dlfo_map_start = reinterpret_cast<void *>(begin);
    search->found->dlfo_map_end = reinterpret_cast<void *>(begin + header.p_memsz);
  }
  search->found->dlfo_eh_frame = frames;
  return is_inside && frames != nullptr ? 1 : 0;
}

} // namespace

extern "C" {

double tilefuse_old_hypot(double x, double y);
__asm__(".symver tilefuse_old_hypot, hypot@GLIBC_2.2.5");

double hypot(double x, double y) { return tilefuse_old_hypot(x, y); }

std::uint32_t arc4random(void) {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
  }
  return value;
}

int _dl_find_object(void *address, dl_find_object *found) noexcept {
  *found = {};
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_into, &search) != 0 ? 0 : -1;
}
}
