// SPDX-License-Identifier: Apache-2.0
#include "level_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/scanner.h"
#include "files.h"
#include "target/device_rows.h"
#include "target/measured_rows.h"
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

std::map<std::string, std::pair<DType, program::Shape>>
parse_tensors(const TileArguments &arguments) {
  std::map<std::string, std::pair<DType, program::Shape>> tensors;
  for (const std::string &tensor : arguments.tensors)
    tensors.insert(parse_tensor(tensor));
  return tensors;
}

tile::Attributes parse_attributes(const TileArguments &arguments) {
  tile::Attributes attributes;
  for (const std::string &attribute : arguments.attributes)
    attributes.insert(parse_attribute(attribute));
  return attributes;
}

void add_tile_options(CLI::App &verb, TileArguments &arguments) {
  verb.add_option("--function", arguments.function,
                  "Tile function; the last of the file if not given")
      ->type_name("NAME");
  verb.add_option("--tensor", arguments.tensors, "Shape of a Tile parameter: I=f32[1, 3, 8, 8]")
      ->type_name("NAME=TYPE[N,N]");
  verb.add_option("--attr", arguments.attributes, "Value of a Tile attribute: SY=1")
      ->type_name("NAME=N");
}

program::Program read_tile_program(const std::string &file, const TileArguments &arguments) {
  return tile::to_program(read_file(file), file, parse_tensors(arguments),
                          parse_attributes(arguments), arguments.function);
}

Target find_target(const std::string &name) {
  std::vector<std::string> names;
  std::vector<Target> targets = builtin_targets();
  for (MeasuredRow &row : read_measured_rows(measured_folder()))
    targets.push_back(std::move(row.target));
  for (const Target &target : targets) {
    if (target.name == name)
      return target;
    names.push_back(target.name);
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("there is no target '{}'{}", name, did_you_mean(name, names)), {},
              {fmt::format("targets are {}", fmt::join(names, ", "))});
}

} // namespace tilefuse::tool
