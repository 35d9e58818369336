// SPDX-License-Identifier: Apache-2.0
#include "level_arguments.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/scanner.h"
#include "files.h"
#include "target/device_rows.h"
#include "tile/tile.h"

namespace tilefuse::tool {
namespace {

// "I=f32[1, 3, 8, 8]"
std::pair<std::string, std::pair<DType, program::Shape>> parse_tensor(const std::string &text) {
  Scanner scanner(text, "--tensor");
  const std::string name = scanner.expect_name("a tensor's name");
  scanner.expect("=");
  const Token token = scanner.peek();
  const std::optional<DType> type = parse_dtype(scanner.expect_name("a type"));
  if (!type)
    throw Error(ErrorCode::Syntax, "there is no such type", scanner.where(token));
  program::Shape shape;
  scanner.expect("[");
  while (!scanner.accept("]")) {
    shape.push_back(scanner.expect_integer("a size"));
    if (!scanner.is("]"))
      scanner.expect(",");
  }
  return {name, {*type, shape}};
}

// "SY=1" or "ALPHA=0.5"
std::pair<std::string, tile::Attribute> parse_attribute(const std::string &text) {
  Scanner scanner(text, "--attr");
  const std::string name = scanner.expect_name("an attribute's name");
  scanner.expect("=");
  if (text.find_first_of(".e", text.find('=')) == std::string::npos)
    return {name, scanner.expect_integer("a number")};
  return {name, scanner.expect_number("a number")};
}

} // namespace

program::Program read_tile_program(const std::string &file, const TileArguments &arguments) {
  std::map<std::string, std::pair<DType, program::Shape>> tensors;
  for (const std::string &tensor : arguments.tensors)
    tensors.insert(parse_tensor(tensor));
  tile::Attributes attributes;
  for (const std::string &attribute : arguments.attributes)
    attributes.insert(parse_attribute(attribute));
  return tile::to_program(read_file(file), file, tensors, attributes, arguments.function);
}

Target find_target(const std::string &name) {
  std::string names;
  for (const Target &target : builtin_targets()) {
    if (target.name == name)
      return target;
    names += (names.empty() ? "" : ", ") + target.name;
  }
  throw Error(ErrorCode::Unsupported, fmt::format("there is no target '{}'", name), {},
              {"targets are " + names});
}

} // namespace tilefuse::tool
