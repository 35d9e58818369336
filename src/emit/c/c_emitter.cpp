// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_emitter.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::emit {

std::string CEmitter::let(const std::string &type, const std::string &name,
                          const std::string &value) const {
  return fmt::format("const {} {} = {};", type, name, value);
}

std::string CEmitter::loop(const LoopText &text) const {
  return fmt::format("for ({} {} = {}; {} {} {}; {} += {}) {{", text.type, text.name, text.begin,
                     text.name, text.is_down ? ">" : "<", text.end, text.name, text.step);
}

std::string CEmitter::select(int, const std::string &condition, const std::string &a,
                             const std::string &b) const {
  return fmt::format("({} ? {} : {})", condition, a, b);
}

std::string CEmitter::round_convert(const kernel::Type &, const std::string &,
                                    std::optional<double>, std::optional<double>) const {
  refuse("rounding to whole numbers at once");
}

std::string CEmitter::load_words(CContext &, const kernel::Let &) const {
  refuse("a vector held as words");
}

std::string CEmitter::store_words(CContext &, const kernel::Store &, kernel::VarId) const {
  refuse("a vector held as words");
}

std::string CEmitter::word(const kernel::Type &, const std::string &) const {
  refuse("a fragment of a matrix instruction");
}

std::string CEmitter::dot(CContext &, const kernel::Dot &node, int lanes) const {
  refuse(fmt::format("'{}' of {} lanes", node.op->name, lanes));
}

std::string CEmitter::repeat(const kernel::Type &, const kernel::Type &,
                             const std::string &) const {
  refuse("a vector that is repeated");
}

std::string CEmitter::plain_store(const CContext &, const VectorText &at,
                                  const std::string &value) const {
  return store(at.buffer.type.elem, at.type.lanes, at.base, at.index, value);
}

std::string CEmitter::conditional_load(const CContext &, const VectorText &, const std::string &,
                                       const std::string &) const {
  return {};
}

std::string CEmitter::pointer_of_rank(const std::string &, const std::string &) const {
  refuse("a load from another block");
}

void CEmitter::refuse(std::string_view what) const {
  throw Error(ErrorCode::Unsupported,
              fmt::format("{} cannot be written in {}", what, words().name));
}

} // namespace tilefuse::emit
