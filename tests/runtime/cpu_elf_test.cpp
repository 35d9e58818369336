// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/cpu/elf_loader.h"
#include "runtime/elf_object.h"

namespace tilefuse::runtime {
namespace {

// int64 answer(): mov value(%rip), %rax; add counter(%rip), %rax; add zero(%rip), %rax; ret
TestObject sum_of_sections() {
  TestObject object;
  object.code = {0x48, 0x8B, 0x05, 0,    0,    0,    0, 0x48, 0x03, 0x05, 0,
                 0,    0,    0,    0x48, 0x03, 0x05, 0, 0,    0,    0,    0xC3};
  object.constants = {40, 0, 0, 0, 0, 0, 0, 0};
  object.data = {2, 0, 0, 0, 0, 0, 0, 0};
  object.zero_bytes = 64;
  object.symbols = {{"answer", STT_FUNC, 1, 0},
                    {"value", STT_OBJECT, 2, 0},
                    {"counter", STT_OBJECT, 3, 0},
                    {"zero", STT_OBJECT, 4, 56}};
  object.relocations = {
      {3, 2, R_X86_64_PC32, -4}, {10, 3, R_X86_64_PC32, -4}, {17, 4, R_X86_64_PC32, -4}};
  return object;
}

// float root(float): a jump to an outer function.
TestObject calls(const std::string &name, std::uint32_t type) {
  TestObject object;
  const bool through_table = type != R_X86_64_PLT32 && type != R_X86_64_PC32;
  if (through_table)
    object.code = {0xFF, 0x25, 0, 0, 0, 0}; // jmp *entry(%rip)
  else
    object.code = {0xE9, 0, 0, 0, 0}; // jmp function
  object.symbols = {{"root", STT_FUNC, 1, 0}, {name, STT_NOTYPE, SHN_UNDEF, 0}};
  object.relocations = {{through_table ? 2U : 1U, 2, type, -4}};
  return object;
}

std::string failure(const std::string &bytes, const std::string &symbol = "answer") {
  try {
    ElfImage image(bytes);
    image.function(symbol);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    return error.message();
  }
  return "";
}

TEST(ElfLoader, LinksSectionsOfEveryKind) {
  ElfImage image(sum_of_sections().bytes());
  EXPECT_EQ(reinterpret_cast<std::int64_t (*)()>(image.function("answer"))(), 42);
}

TEST(ElfLoader, CallsTheLibraryInEveryWay) {
  for (std::uint32_t type :
       {R_X86_64_PLT32, R_X86_64_PC32, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX}) {
    ElfImage image(calls("cosf", type).bytes());
    const auto root = reinterpret_cast<float (*)(float)>(image.function("root"));
    EXPECT_EQ(root(0.5F), std::cos(0.5F)) << type;
  }
}

TEST(ElfLoader, AbsoluteAddresses) {
  TestObject object;
  object.code = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xC3}; // movabs $value, %rax; ret
  object.constants = {1, 2, 3, 4};
  object.symbols = {{"answer", STT_FUNC, 1, 0}, {"value", STT_OBJECT, 2, 1}};
  object.relocations = {{2, 2, R_X86_64_64, 1}};
  ElfImage image(object.bytes());
  EXPECT_EQ(*reinterpret_cast<const std::uint8_t *(*)()>(image.function("answer"))(), 3);
}

TEST(ElfLoader, NarrowAbsoluteAddressesMustFit) {
  TestObject object = sum_of_sections();
  object.relocations[0].type = R_X86_64_32S;
  EXPECT_NE(failure(object.bytes()).find("does not fit"), std::string::npos);
}

TEST(ElfLoader, MemoryIsNeverWritableAndExecutable) {
  ElfImage image(sum_of_sections().bytes());
  const auto at = reinterpret_cast<std::uintptr_t>(image.function("answer"));
  std::ifstream maps("/proc/self/maps");
  std::string access;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char dash = 0;
    std::string rights;
    words >> std::hex >> first >> dash >> last >> rights;
    EXPECT_FALSE(rights.find('w') != std::string::npos && rights.find('x') != std::string::npos)
        << line;
    if (first <= at && at < last)
      access = rights;
  }
  EXPECT_EQ(access, "r-xp");
}

TEST(ElfLoader, NamesWhatIsWrong) {
  const std::string good = sum_of_sections().bytes();
  EXPECT_EQ(failure(good), "");
  EXPECT_NE(failure(good, "question").find("no function 'question'"), std::string::npos);
  EXPECT_NE(failure(good, "value").find("no function 'value'"), std::string::npos);
  EXPECT_NE(failure("").find("header is cut off"), std::string::npos);
  EXPECT_NE(failure(std::string(1000, 'x')).find("not an ELF file"), std::string::npos);
  EXPECT_NE(failure(calls("system", R_X86_64_PLT32).bytes(), "root").find("'system'"),
            std::string::npos);
}

struct Damage {
  const char *expected;
  std::function<void(TestObject &)> apply;
};

TEST(ElfLoader, RefusesEachKindOfDamage) {
  const std::vector<Damage> cases = {
      {"a relocation lies outside",
       [](TestObject &o) { o.relocations[0].offset = o.code.size() - 3; }},
      {"a relocation lies outside",
       [](TestObject &o) { o.relocations[0].offset = ~std::uint64_t{0}; }},
      {"names no symbol", [](TestObject &o) { o.relocations[0].symbol = 99; }},
      {"is not known", [](TestObject &o) { o.relocations[0].type = R_X86_64_TPOFF32; }},
      {"outside its section", [](TestObject &o) { o.symbols[1].value = 9; }},
      {"in no section", [](TestObject &o) { o.symbols[1].section = 77; }},
      {"outside its section", [](TestObject &o) { o.symbols[1].section = 7; }},
      {"resolved by a function", [](TestObject &o) { o.symbols[1].type = STT_GNU_IFUNC; }},
      {"outside the code", [](TestObject &o) { o.symbols[0].section = 2; }},
      {"too large", [](TestObject &o) { o.zero_bytes = ~std::uint64_t{0} - 100; }},
      {"does not fit", [](TestObject &o) { o.relocations[0].addend = std::int64_t{1} << 40; }},
  };
  for (const Damage &damage : cases) {
    TestObject object = sum_of_sections();
    damage.apply(object);
    EXPECT_NE(failure(object.bytes()).find(damage.expected), std::string::npos)
        << "expected '" << damage.expected << "', got '" << failure(object.bytes()) << "'";
  }
}

// Loads without calling: what remains readable is either the same image or an error.
bool loads(const std::string &bytes) {
  try {
    ElfImage image(bytes);
    return true;
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    return false;
  }
}

TEST(ElfLoader, TruncatedAnywhere) {
  const std::string good = calls("cosf", R_X86_64_GOTPCREL).bytes();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(loads(good.substr(0, size))) << size;
}

TEST(ElfLoader, EveryByteFlipped) {
  for (const std::string &good : {sum_of_sections().bytes(), calls("cosf", R_X86_64_PLT32).bytes()})
    for (std::size_t at = 0; at < good.size(); ++at)
      for (int value : {0x01, 0x80, 0xFF}) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(bytes[at] ^ value);
        loads(bytes);
      }
}

TEST(ElfLoader, RandomDamage) {
  std::mt19937 random(7);
  const std::string good = sum_of_sections().bytes();
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 4; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    refused += !loads(bytes);
  }
  EXPECT_GT(refused, 1000);
}

} // namespace
} // namespace tilefuse::runtime
