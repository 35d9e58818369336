// SPDX-License-Identifier: Apache-2.0
// Arguments that the verbs opt and explain share: what a Tile function's names are bound to, and
// the row of devices/ to work for.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "target/target.h"
#include "tile/attributes.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

// Bindings as given: "I=f32[1, 3, 8, 8]", "SY=1" or "ALPHA=0.5".
struct TileArguments {
  std::string function; // empty: the last of the file
  std::vector<std::string> tensors;
  std::vector<std::string> attributes;
};

// The bindings, parsed. Error{Syntax} says where one is wrong.
std::map<std::string, std::pair<DType, program::Shape>>
parse_tensors(const TileArguments &arguments);
tile::Attributes parse_attributes(const TileArguments &arguments);

// --function, --tensor and --attr. `arguments` must outlive parsing.
void add_tile_options(CLI::App &verb, TileArguments &arguments);

// A Tile file with the bindings. Error{Syntax|Shape|Type} says which is wrong or missing.
program::Program read_tile_program(const std::string &file, const TileArguments &arguments);

// Error{Unsupported} lists the rows there are.
Target find_target(const std::string &name);

} // namespace tilefuse::tool
