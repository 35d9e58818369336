// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/elf_loader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/cpu/elf_externals.h"
#include "runtime/cpu/elf_reader.h"

namespace tilefuse::runtime {
namespace {

using namespace elf;

constexpr std::size_t kMaxObjectBytes = std::size_t{256} << 20;
constexpr std::uint64_t kMaxAlign = 4096;

// The three parts of the mapping, in order.
enum Part : std::size_t { kCode, kConstants, kData, kParts };

struct PlacedSection {
  Elf64_Shdr header{};
  bool is_placed = false;
  Part part = kCode;
  std::uint64_t offset = 0; // within its part
};

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr std::uint64_t kStubBytes = 16;
constexpr std::array<std::uint8_t, 6> kJumpThroughNext = {0xFF, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)

bool uses_table(std::uint64_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

std::uint64_t field_bytes(std::uint64_t type) {
  switch (type) {
  case R_X86_64_NONE:
    return 0;
  case R_X86_64_64:
  case R_X86_64_PC64:
    return 8;
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
  case R_X86_64_32:
  case R_X86_64_32S:
    return 4;
  default:
    damaged(fmt::format("relocation type {} is not known", type));
  }
}

} // namespace

// The steps of loading, in the order of run().
class ElfLinker {
public:
  ElfLinker(std::string_view object, ElfImage &image) : object_(object), image_(image) {}

  void run() {
    read_header();
    read_symbols();
    place_sections();
    map_memory();
    copy_sections();
    relocate();
    collect_functions();
    protect();
  }

private:
  void read_header();
  void read_symbols();
  void place_sections();
  void place(PlacedSection &section);
  void map_memory();
  void copy_sections();
  void relocate();
  void relocate_section(const Elf64_Shdr &relocations);
  void apply(const PlacedSection &target, const Elf64_Rela &entry);
  void patch(std::byte *field, std::uint64_t type, Address value);
  void collect_functions();
  void protect();

  Address section_address(const PlacedSection &section) const;
  std::byte *part_base(std::size_t part) const { return image_.mapping_.base + part_start_[part]; }
  const Elf64_Sym &symbol(std::uint64_t index) const;
  bool is_external(const Elf64_Sym &symbol) const { return symbol.st_shndx == SHN_UNDEF; }
  Address symbol_address(const Elf64_Sym &symbol) const;
  Address stub(std::uint64_t symbol_index);
  Address table_entry(std::uint64_t symbol_index);

  Reader object_;
  ElfImage &image_;
  std::vector<PlacedSection> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view symbol_names_;
  std::array<std::uint64_t, kParts> part_bytes_{};
  std::array<std::uint64_t, kParts> part_start_{};
  std::uint64_t stubs_offset_ = 0;               // within the code
  std::uint64_t table_offset_ = 0;               // within the constants
  std::map<std::uint64_t, std::uint64_t> stubs_; // by symbol, its number
  std::map<std::uint64_t, std::uint64_t> table_;
  std::uint64_t reserved_ = 0; // stubs and table entries that there is room for
};

void ElfLinker::read_header() {
  const auto header = object_.at<Elf64_Ehdr>(0, "the header is cut off");
  require(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0, "it is not an ELF file");
  require(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB,
          "it is not 64-bit little-endian");
  require(header.e_type == ET_REL && header.e_machine == EM_X86_64,
          "it is not an x86-64 relocatable object");
  require(header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum > 0,
          "it has no table of sections");
  const std::uint64_t bytes = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  const auto table = object_.range(header.e_shoff, bytes, "the table of sections is cut off");
  for (const Elf64_Shdr &section : read_table<Elf64_Shdr>(table))
    sections_.push_back({.header = section});
}

void ElfLinker::read_symbols() {
  const PlacedSection *found = nullptr;
  for (const PlacedSection &section : sections_)
    if (section.header.sh_type == SHT_SYMTAB) {
      require(found == nullptr, "it has two tables of symbols");
      found = &section;
    }
  require(found != nullptr, "it has no table of symbols");
  const Elf64_Shdr &header = found->header;
  require(header.sh_entsize == sizeof(Elf64_Sym), "the symbols have a wrong size");
  symbols_ = read_table<Elf64_Sym>(
      object_.range(header.sh_offset, header.sh_size, "the symbols are cut off"));
  require(header.sh_link < sections_.size(), "the symbols have no names");
  const Elf64_Shdr &names = sections_[header.sh_link].header;
  symbol_names_ = object_.range(names.sh_offset, names.sh_size, "the symbol names are cut off");
}

void ElfLinker::place(PlacedSection &section) {
  const Elf64_Shdr &header = section.header;
  const std::uint64_t align = header.sh_addralign == 0 ? 1 : header.sh_addralign;
  require(align <= kMaxAlign && (align & (align - 1)) == 0, "a section's alignment is wrong");
  require(header.sh_size <= kMaxObjectBytes, "a section is too large");
  require((header.sh_flags & SHF_TLS) == 0, "it has thread-local data");
  const bool is_code = (header.sh_flags & SHF_EXECINSTR) != 0;
  const bool is_data = (header.sh_flags & SHF_WRITE) != 0;
  require(!(is_code && is_data), "a section is both writable and code");
  if (header.sh_type != SHT_NOBITS)
    object_.range(header.sh_offset, header.sh_size, "a section is cut off");
  section.is_placed = true;
  section.part = is_code ? kCode : is_data ? kData : kConstants;
  section.offset = round_up(part_bytes_[section.part], align);
  part_bytes_[section.part] = section.offset + header.sh_size;
  require(part_bytes_[section.part] <= kMaxObjectBytes, "the sections are too large");
}

void ElfLinker::place_sections() {
  for (PlacedSection &section : sections_)
    if ((section.header.sh_flags & SHF_ALLOC) != 0)
      place(section);
  for (const PlacedSection &section : sections_)
    if (section.header.sh_type == SHT_RELA)
      reserved_ += section.header.sh_size / sizeof(Elf64_Rela);
  require(reserved_ <= kMaxObjectBytes / kStubBytes, "it has too many relocations");
  // At most one stub or entry per symbol, and per relocation.
  reserved_ = std::min<std::uint64_t>(reserved_, symbols_.size());
  stubs_offset_ = round_up(part_bytes_[kCode], kStubBytes);
  part_bytes_[kCode] = stubs_offset_ + reserved_ * kStubBytes;
  table_offset_ = round_up(part_bytes_[kConstants], sizeof(Address));
  part_bytes_[kConstants] = table_offset_ + reserved_ * sizeof(Address);
}

void ElfLinker::map_memory() {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t total = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    part_start_[part] = total;
    total += round_up(part_bytes_[part], page);
  }
  require(total > 0, "it holds nothing to load");
  void *memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorCode::Device, fmt::format("no memory for {} bytes of machine code", total));
  image_.mapping_.base = static_cast<std::byte *>(memory);
  image_.mapping_.bytes = total;
}

void ElfLinker::copy_sections() {
  for (const PlacedSection &section : sections_) {
    if (!section.is_placed || section.header.sh_type == SHT_NOBITS)
      continue;
    const auto bytes =
        object_.range(section.header.sh_offset, section.header.sh_size, "a section is cut off");
    if (!bytes.empty())
      std::memcpy(part_base(section.part) + section.offset, bytes.data(), bytes.size());
  }
}

Address ElfLinker::section_address(const PlacedSection &section) const {
  return reinterpret_cast<Address>(part_base(section.part) + section.offset);
}

const Elf64_Sym &ElfLinker::symbol(std::uint64_t index) const {
  require(index < symbols_.size(), "a relocation names no symbol");
  return symbols_[index];
}

Address ElfLinker::symbol_address(const Elf64_Sym &symbol) const {
  if (is_external(symbol)) {
    const std::string_view name = name_at(symbol_names_, symbol.st_name);
    const auto address = find_external(name);
    if (!address)
      damaged(fmt::format("it calls '{}', which is not provided", name));
    return *address;
  }
  if (symbol.st_shndx == SHN_ABS)
    return symbol.st_value;
  require(symbol.st_shndx < sections_.size(), "a symbol lies in no section");
  const PlacedSection &section = sections_[symbol.st_shndx];
  require(section.is_placed && symbol.st_value <= section.header.sh_size,
          "a symbol lies outside its section");
  require(ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC, "a symbol is resolved by a function");
  return section_address(section) + symbol.st_value;
}

// A jump to a far function, near the code that calls it.
Address ElfLinker::stub(std::uint64_t symbol_index) {
  const auto [place, is_new] = stubs_.try_emplace(symbol_index, stubs_.size());
  require(place->second < reserved_, "it has too many calls");
  std::byte *code = part_base(kCode) + stubs_offset_ + place->second * kStubBytes;
  if (is_new) {
    const Address target = symbol_address(symbol(symbol_index));
    std::memcpy(code, kJumpThroughNext.data(), kJumpThroughNext.size());
    std::memcpy(code + kJumpThroughNext.size(), &target, sizeof(target));
  }
  return reinterpret_cast<Address>(code);
}

Address ElfLinker::table_entry(std::uint64_t symbol_index) {
  const auto [place, is_new] = table_.try_emplace(symbol_index, table_.size());
  require(place->second < reserved_, "it has too many addresses");
  std::byte *entry = part_base(kConstants) + table_offset_ + place->second * sizeof(Address);
  if (is_new) {
    const Address target = symbol_address(symbol(symbol_index));
    std::memcpy(entry, &target, sizeof(target));
  }
  return reinterpret_cast<Address>(entry);
}

void ElfLinker::patch(std::byte *field, std::uint64_t type, Address value) {
  const std::uint64_t bytes = field_bytes(type);
  const auto number = static_cast<std::int64_t>(value);
  const bool fits_signed = number >= std::numeric_limits<std::int32_t>::min() &&
                           number <= std::numeric_limits<std::int32_t>::max();
  const bool fits =
      type == R_X86_64_32 ? value <= std::numeric_limits<std::uint32_t>::max() : fits_signed;
  require(bytes == 8 || fits, "an address does not fit its field");
  std::memcpy(field, &value, bytes);
}

void ElfLinker::apply(const PlacedSection &target, const Elf64_Rela &entry) {
  const std::uint64_t type = ELF64_R_TYPE(entry.r_info);
  const std::uint64_t index = ELF64_R_SYM(entry.r_info);
  const std::uint64_t bytes = field_bytes(type);
  if (bytes == 0)
    return;
  const std::uint64_t size = target.header.sh_size;
  require(target.header.sh_type != SHT_NOBITS && entry.r_offset <= size &&
              bytes <= size - entry.r_offset,
          "a relocation lies outside its section");
  std::byte *field = part_base(target.part) + target.offset + entry.r_offset;
  const auto addend = static_cast<std::uint64_t>(entry.r_addend);
  const bool is_absolute = type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S;
  const Elf64_Sym &to = symbol(index);
  Address value = 0;
  if (uses_table(type))
    value = table_entry(index);
  else if (!is_absolute && is_external(to))
    value = stub(index);
  else
    value = symbol_address(to);
  value += addend;
  if (!is_absolute)
    value -= reinterpret_cast<Address>(field);
  patch(field, type, value);
}

void ElfLinker::relocate_section(const Elf64_Shdr &relocations) {
  require(relocations.sh_entsize == sizeof(Elf64_Rela), "the relocations have a wrong size");
  require(relocations.sh_info < sections_.size(), "relocations belong to no section");
  const PlacedSection &target = sections_[relocations.sh_info];
  if (!target.is_placed)
    return;
  const auto bytes =
      object_.range(relocations.sh_offset, relocations.sh_size, "the relocations are cut off");
  for (const Elf64_Rela &entry : read_table<Elf64_Rela>(bytes))
    apply(target, entry);
}

void ElfLinker::relocate() {
  for (const PlacedSection &section : sections_) {
    require(section.header.sh_type != SHT_REL, "its relocations have no addends");
    if (section.header.sh_type == SHT_RELA)
      relocate_section(section.header);
  }
}

void ElfLinker::collect_functions() {
  for (const Elf64_Sym &symbol : symbols_) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || is_external(symbol))
      continue;
    require(symbol.st_shndx < sections_.size() && sections_[symbol.st_shndx].part == kCode,
            "a function lies outside the code");
    require(symbol.st_value < sections_[symbol.st_shndx].header.sh_size,
            "a function lies outside its section");
    image_.functions_.emplace(name_at(symbol_names_, symbol.st_name),
                              reinterpret_cast<void *>(symbol_address(symbol)));
  }
}

void ElfLinker::protect() {
  constexpr std::array<int, kParts> kAccess = {PROT_READ | PROT_EXEC, PROT_READ,
                                               PROT_READ | PROT_WRITE};
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::uint64_t end = part + 1 < kParts ? part_start_[part + 1] : image_.mapping_.bytes;
    if (end == part_start_[part])
      continue;
    if (mprotect(part_base(part), end - part_start_[part], kAccess[part]) != 0)
      throw Error(ErrorCode::Device, "the system refuses to make memory executable");
  }
}

ElfImage::Mapping::~Mapping() {
  if (base != nullptr)
    munmap(base, bytes);
}

ElfImage::ElfImage(std::string_view object) {
  require(object.size() <= kMaxObjectBytes, "it is too large");
  ElfLinker(object, *this).run();
}

void *ElfImage::function(const std::string &symbol) const {
  const auto found = functions_.find(symbol);
  if (found == functions_.end())
    damaged(fmt::format("it has no function '{}'", symbol));
  return found->second;
}

} // namespace tilefuse::runtime
