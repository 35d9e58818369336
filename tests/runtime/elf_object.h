// SPDX-License-Identifier: Apache-2.0
// Writes small x86-64 relocatable objects for tests of the loader, so that they need no compiler.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <elf.h>

namespace tilefuse::runtime {

struct TestRelocation {
  std::uint64_t offset;
  std::uint64_t symbol;
  std::uint32_t type;
  std::int64_t addend;
};

struct TestSymbol {
  std::string name;
  unsigned char type = STT_NOTYPE;
  std::uint16_t section = SHN_UNDEF;
  std::uint64_t value = 0;
};

// Sections: 1 code, 2 constants, 3 data, 4 zeroed data of `zero_bytes`, 5 relocations of the code,
// 6 symbols, 7 names.
struct TestObject {
  std::vector<std::uint8_t> code;
  std::vector<std::uint8_t> constants;
  std::vector<std::uint8_t> data;
  std::uint64_t zero_bytes = 0;
  std::vector<TestRelocation> relocations;
  std::vector<TestSymbol> symbols; // symbol 0 is added before them

  std::string bytes() const;
};

namespace detail {

template <class T> void append(std::string &to, const T &value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

inline Elf64_Shdr section(std::uint32_t type, std::uint64_t flags, std::uint64_t offset,
                          std::uint64_t size) {
  Elf64_Shdr header{};
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_offset = offset;
  header.sh_size = size;
  header.sh_addralign = 16;
  return header;
}

} // namespace detail

inline std::string TestObject::bytes() const {
  std::string names(1, '\0');
  std::string table;
  detail::append(table, Elf64_Sym{});
  for (const TestSymbol &symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<std::uint32_t>(names.size());
    entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, symbol.type));
    entry.st_shndx = symbol.section;
    entry.st_value = symbol.value;
    detail::append(table, entry);
    names += symbol.name + '\0';
  }
  std::string rela;
  for (const TestRelocation &r : relocations)
    detail::append(rela, Elf64_Rela{r.offset, ELF64_R_INFO(r.symbol, r.type), r.addend});
  std::string body(sizeof(Elf64_Ehdr), '\0');
  const auto place = [&](const auto &content) {
    const std::uint64_t offset = body.size();
    body.append(content.begin(), content.end());
    return offset;
  };
  std::vector<Elf64_Shdr> headers(8);
  headers[1] = detail::section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, place(code), code.size());
  headers[2] = detail::section(SHT_PROGBITS, SHF_ALLOC, place(constants), constants.size());
  headers[3] = detail::section(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, place(data), data.size());
  headers[4] = detail::section(SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, zero_bytes);
  headers[5] = detail::section(SHT_RELA, 0, place(rela), rela.size());
  headers[5].sh_entsize = sizeof(Elf64_Rela);
  headers[5].sh_link = 6;
  headers[5].sh_info = 1;
  headers[6] = detail::section(SHT_SYMTAB, 0, place(table), table.size());
  headers[6].sh_entsize = sizeof(Elf64_Sym);
  headers[6].sh_link = 7;
  headers[7] = detail::section(SHT_STRTAB, 0, place(names), names.size());
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(headers.size());
  header.e_shoff = body.size();
  std::memcpy(body.data(), &header, sizeof(header));
  for (const Elf64_Shdr &section : headers)
    detail::append(body, section);
  return body;
}

} // namespace tilefuse::runtime
