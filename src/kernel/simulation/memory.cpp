// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/memory.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/text/text.h"
#include "target/dtype_traits.h"

namespace tilefuse::kernel::simulation {

Cell load_cell(const std::byte *data, DType type, std::int64_t index) {
  const DTypeTraits &row = traits(type);
  return row.is_float ? Cell{.real = row.load(data, index)}
                      : Cell{.whole = row.load_whole(data, index)};
}

void store_cell(std::byte *data, DType type, std::int64_t index, Cell value) {
  const DTypeTraits &row = traits(type);
  if (row.is_float)
    row.store(data, index, value.real);
  else
    row.store_whole(data, index, value.whole);
}

void Position::fault(std::string_view what, std::int64_t item) const {
  std::string text = stmt != nullptr ? to_text(kernel, stmt) : "";
  text = text.substr(0, text.find('\n'));
  const std::string lane = item >= 0 ? fmt::format(", lane {}", item) : "";
  throw Error(ErrorCode::Limit,
              fmt::format("kernel {}, block {}{}: {}", kernel.name, block, lane, what), text);
}

} // namespace tilefuse::kernel::simulation
