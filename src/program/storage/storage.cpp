// SPDX-License-Identifier: Apache-2.0
#include "program/storage/storage.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "program/storage/layout.h"
#include "program/storage/placement.h"

namespace tilefuse::program {
namespace {

std::string_view role_text(const Buffer &buffer) {
  if (buffer.is_output)
    return "output";
  if (buffer.role == Role::Input)
    return "input";
  return buffer.role == Role::Constant ? "constant" : "temporary";
}

void check_window(const StoredProgram &stored, TensorId id) {
  const Tensor &tensor = stored.program[id];
  const Window &window = stored.windows[at(id)];
  const auto fail = [&](std::string message) {
    throw Error(ErrorCode::Shape, std::move(message),
                fmt::format("%{} {}", to_int(id), quoted(tensor.name)));
  };
  const auto buffer = static_cast<std::size_t>(to_int(window.buffer));
  if (to_int(window.buffer) < 0 || buffer >= stored.buffers.size())
    fail("the tensor has no buffer");
  if (window.strides.size() != tensor.shape.size())
    fail("the window's rank is not the tensor's");
  if (stored.buffers[buffer].type != tensor.type)
    fail("the buffer's type is not the tensor's");
  std::int64_t last = window.offset;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (window.strides[d] < 0)
      fail("the window has a negative stride");
    last += (tensor.shape[d] - 1) * window.strides[d];
  }
  if (elems(tensor.shape) == 0)
    return;
  if (window.offset < 0 || last >= stored.buffers[buffer].elems)
    fail(fmt::format("the window spans elements {} to {} of a buffer of {}", window.offset, last,
                     stored.buffers[buffer].elems));
}

// Outputs are handed out as they lie, so each spans a buffer that is no other's.
void check_outputs(const StoredProgram &stored) {
  std::vector<bool> taken(stored.buffers.size(), false);
  for (TensorId id : stored.program.outputs) {
    check_window(stored, id);
    const Tensor &tensor = stored.program[id];
    const Window &window = stored.windows[at(id)];
    const auto index = static_cast<std::size_t>(to_int(window.buffer));
    const Buffer &buffer = stored.buffers[index];
    const bool spans = window.offset == 0 && buffer.elems == elems(tensor.shape) &&
                       same_layout(tensor.shape, window.strides, row_major(tensor.shape));
    if (!spans || taken[index] || !buffer.is_output || buffer.role != Role::Temporary)
      throw Error(ErrorCode::Shape, "the output is not alone and row-major in an output buffer",
                  fmt::format("%{} {}", to_int(id), quoted(tensor.name)));
    taken[index] = true;
  }
}

} // namespace

StoredProgram assign_storage(const Program &program, Layout layout) {
  verify(program);
  StoredProgram stored = Placer(program, layout).run();
  verify(stored);
  return stored;
}

int conversions(const StoredProgram &stored) {
  const auto &statements = stored.program.statements;
  return static_cast<int>(std::count_if(statements.begin(), statements.end(),
                                        [](const auto &one) { return one.origin == "layout"; }));
}

void verify(const StoredProgram &stored) {
  if (stored.windows.size() != stored.program.tensors.size())
    throw Error(ErrorCode::Shape,
                fmt::format("{} tensors have {} windows", stored.program.tensors.size(),
                            stored.windows.size()));
  for (TensorId id : stored.program.inputs)
    check_window(stored, id);
  check_outputs(stored);
  for (const Statement &statement : stored.program.statements) {
    if (std::holds_alternative<View>(statement.body))
      throw Error(ErrorCode::Shape, "a stored program has no views", statement.origin);
    check_window(stored, statement.out);
    for (TensorId id : reads(statement))
      check_window(stored, id);
  }
}

std::string to_text(const StoredProgram &stored) {
  std::string text = to_text(stored.program);
  for (std::size_t b = 0; b < stored.buffers.size(); ++b) {
    const Buffer &buffer = stored.buffers[b];
    text += fmt::format("buffer {} {} {} {}{}\n", b, role_text(buffer), to_string(buffer.type),
                        buffer.elems, buffer.needs_zero ? " zero" : "");
  }
  for (std::size_t i = 0; i < stored.windows.size(); ++i) {
    const Window &window = stored.windows[i];
    if (window.buffer == kNoBuffer)
      continue;
    text += fmt::format("window %{} = {} + {} [{}]\n", i, to_int(window.buffer), window.offset,
                        fmt::join(window.strides, ", "));
  }
  return text;
}

} // namespace tilefuse::program
