// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>

#include "base/error.h"
#include "tile/functions.h"
#include "tile/instantiate.h"

namespace tilefuse::fuzz {
namespace {

using program::Shape;

class Binder {
public:
  Binder(const tile::Function &function, std::uint32_t seed) : function_(function), engine_(seed) {}

  program::Program program(const tile::FunctionTable &table) {
    program::Program result;
    result.name = function_.name;
    for (const tile::Parameter &parameter : function_.parameters)
      result.inputs.push_back(result.add({.name = parameter.name,
                                          .type = parameter.type.value_or(type()),
                                          .shape = shape(parameter),
                                          .role = program::Role::Input}));
    tile::Attributes attributes;
    for (const tile::AttributeDeclaration &attribute : function_.attributes)
      if (!attribute.value || below(2) == 0)
        attributes[attribute.name] = number();
    result.outputs =
        tile::instantiate(table, function_.name, result.inputs, attributes, {result, ""});
    return result;
  }

private:
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(engine_()) % count; }

  DType type() {
    constexpr std::array kTypes = {DType::F32, DType::F32, DType::F16, DType::I32, DType::I8,
                                   DType::U8,  DType::I64, DType::F64, DType::Bool};
    return kTypes[below(kTypes.size())];
  }

  std::int64_t size() {
    constexpr std::array<std::int64_t, 4> kLarge = {224, 1000, std::int64_t{1} << 20,
                                                    std::int64_t{1} << 31};
    return below(16) == 0 ? kLarge[below(kLarge.size())] : 1 + below(6);
  }

  Shape shape(const tile::Parameter &parameter) {
    Shape shape;
    if (!parameter.dims)
      shape.resize(below(4));
    for (std::int64_t &dim : shape)
      dim = size();
    for (std::size_t d = 0; parameter.dims && d < parameter.dims->size(); ++d) {
      const auto *name = std::get_if<std::string>(&(*parameter.dims)[d]);
      const std::int64_t fixed = name ? 0 : std::get<std::int64_t>((*parameter.dims)[d]);
      shape.push_back(name ? sizes_.emplace(*name, size()).first->second
                           : std::max<std::int64_t>(fixed, 1));
    }
    program::elems(shape);
    return shape;
  }

  tile::Attribute number() {
    constexpr std::array<std::int64_t, 6> kEdges = {
        0, -1, 1000, std::int64_t{1} << 40, INT64_MAX, INT64_MIN};
    const std::uint32_t form = below(16);
    if (form == 0)
      return kEdges[below(kEdges.size())];
    if (form == 1)
      return 0.25 * below(100) - 8;
    return static_cast<std::int64_t>(below(8)) - 2;
  }

  const tile::Function &function_;
  std::mt19937 engine_;
  std::map<std::string, std::int64_t> sizes_;
};

std::uint32_t seed_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

} // namespace

void for_each_program(std::string_view text, const std::function<void(program::Program &)> &use) {
  tile::FunctionTable table;
  try {
    tile::add_functions(table, text, "fuzz.tile");
  } catch (const Error &) {
    return;
  }
  std::uint32_t seed = seed_of(text);
  for (const auto &[name, function] : table) {
    try {
      program::Program program = Binder(function, seed++).program(table);
      use(program);
    } catch (const Error &) {
    }
  }
}

} // namespace tilefuse::fuzz
