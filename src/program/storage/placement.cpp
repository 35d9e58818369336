// SPDX-License-Identifier: Apache-2.0
#include "program/storage/placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/index.h"
#include "program/storage/layout.h"
#include "program/storage/padded_rows.h"

namespace tilefuse::program {
Placer::Placer(const Program &program, Layout layout, bool pads_rows)
    : program_(canonicalize(program)), uses_(uses_of(program_)), pads_rows_(pads_rows),
      channels_(layout == Layout::Nhwc ? channel_dims(program_)
                                       : std::vector<std::size_t>(program_.tensors.size(), 0)),
      windows_(program_.tensors.size()), is_chained_(program_.statements.size(), false),
      is_in_place_(program_.statements.size(), false),
      is_dropped_(program_.statements.size(), false), copies_(program_.statements.size()) {
  for (TensorId output : program_.outputs)
    channels_[at(output)] = 0;
}

StoredProgram Placer::run() {
  for (std::size_t s = program_.statements.size(); s-- > 0;) {
    const Statement &statement = program_.statements[s];
    if (std::holds_alternative<View>(statement.body))
      continue;
    settle(statement.out);
    if (std::holds_alternative<Contraction>(statement.body))
      place_inserts(s);
  }
  for (TensorId input : program_.inputs)
    settle(input);
  for (TensorId output : program_.outputs)
    settle(output); // those without elements, which no statement makes
  place_constants();
  for (std::size_t b = 0; b < buffers_.size(); ++b)
    if (buffers_[b].role == Role::Temporary)
      buffers_[b].needs_zero = !is_written(owners_[b]);
  return finish();
}

Window Placer::new_window(TensorId owner, Shape strides, bool is_output) {
  const Tensor &tensor = program_[owner];
  const BufferId buffer{static_cast<int>(buffers_.size())};
  std::int64_t span = std::min<std::int64_t>(elems(tensor.shape), 1);
  for (std::size_t d = 0; d < strides.size() && span > 0; ++d)
    span = std::max(span, strides[d] * tensor.shape[d]);
  buffers_.push_back(
      {.type = tensor.type, .elems = span, .role = tensor.role, .is_output = is_output});
  owners_.push_back(owner);
  return {buffer, 0, std::move(strides)};
}

// Gives `id` a buffer unless it has a window, then windows to its views.
void Placer::settle(TensorId id) {
  if (!window(id))
    window(id) = new_window(id, padded(id, own_layout(id)), uses_.is_output[at(id)]);
  std::vector<TensorId> copies;
  for (TensorId view : uses_.views[at(id)])
    if (!window(view))
      place_view(id, view, copies);
}

Shape Placer::preferred(TensorId id) const {
  const std::size_t channels = channels_[at(id)];
  return channels == 0 ? row_major(shape(id)) : channels_last(shape(id), channels);
}

// Strides of a temporary of its own with its rows padded, where these are row-major and its views
// can still be walked.
Shape Placer::padded(TensorId id, Shape strides) const {
  const Tensor &tensor = program_[id];
  if (!pads_rows_ || tensor.role != Role::Temporary || uses_.is_output[at(id)] ||
      strides != row_major(tensor.shape))
    return strides;
  Shape rows = padded_rows(tensor.shape, tensor.type);
  const auto suits = [&](TensorId view) {
    return !uses_.is_output[at(view)] && view_strides(tensor.shape, rows, shape(view));
  };
  const auto &views = uses_.views[at(id)];
  return std::all_of(views.begin(), views.end(), suits) ? rows : strides;
}

// A tensor that is only read through views takes a layout that serves them; a mere copy serves any
// of them, and outputs are row-major.
Shape Placer::own_layout(TensorId id) const {
  const auto &views = uses_.views[at(id)];
  if (views.empty() || uses_.reads[at(id)] > 0 || uses_.is_output[at(id)])
    return preferred(id);
  const auto is_output = [&](TensorId view) { return uses_.is_output[at(view)]; };
  const bool is_returned = std::any_of(views.begin(), views.end(), is_output);
  const bool is_plain = is_assignment(id) || std::all_of(views.begin(), views.end(), is_output);
  const Shape fallback = is_plain ? row_major(shape(id)) : preferred(id);
  for (TensorId view : views) {
    if (is_returned || program_[id].role != Role::Temporary || channels_[at(view)] == 0)
      continue;
    if (auto strides = view_strides(shape(view), preferred(view), shape(id)))
      return *strides;
  }
  return fallback;
}

bool Placer::is_assignment(TensorId id) const {
  const int definition = uses_.definition[at(id)];
  if (definition < 0)
    return false;
  const auto *body = std::get_if<Contraction>(&program_.statements[at(definition)].body);
  return body && body->agg == Agg::Assign;
}

// Places a view in its source's window, or in that of a copy of the source. `copies` are those made
// so far.
void Placer::place_view(TensorId source, TensorId view, std::vector<TensorId> &copies) {
  if (alias(source, view))
    return;
  for (TensorId copy : copies)
    if (alias(copy, view))
      return;
  const bool is_output = uses_.is_output[at(view)];
  Tensor tensor = program_[source];
  tensor.role = Role::Temporary;
  const Shape from = tensor.shape;
  auto strides = view_strides(shape(view), preferred(view), from);
  const TensorId copy = program_.add(std::move(tensor));
  windows_.push_back(new_window(copy, strides ? *strides : row_major(from), is_output));
  const Window home = *window(copy);
  window(view) = Window{home.buffer, 0, *view_strides(from, home.strides, shape(view))};
  copies_[at(uses_.definition[at(view)])].push_back(
      {copy, identity(source, from.size()), "layout"});
  copies.push_back(copy);
}

// Places a view in the window of `source` where strides can express it; an output must span its
// buffer.
bool Placer::alias(TensorId source, TensorId view) {
  const Window home = *window(source);
  auto strides = view_strides(shape(source), home.strides, shape(view));
  if (!strides)
    return false;
  if (uses_.is_output[at(view)]) {
    if (!can_return(source))
      return false;
    buffers_[at(home.buffer)].is_output = true;
  }
  window(view) = Window{home.buffer, home.offset, std::move(*strides)};
  return true;
}

// Whether the buffer of `source` is exactly it, row-major, and may be an output.
bool Placer::can_return(TensorId source) const {
  const Window &home = *window(source);
  const Buffer &buffer = buffers_[at(home.buffer)];
  return buffer.role == Role::Temporary && owners_[at(home.buffer)] == source &&
         same_layout(shape(source), home.strides, row_major(shape(source)));
}

void Placer::place_constants() {
  std::map<std::pair<const Bytes *, DType>, BufferId> shared;
  for (std::size_t i = 0; i < uses_.definition.size(); ++i) {
    const TensorId id{static_cast<int>(i)};
    const Tensor &tensor = program_[id];
    if (tensor.role != Role::Constant)
      continue;
    const auto key = std::pair(tensor.data.get(), tensor.type);
    const auto found = shared.find(key);
    if (found != shared.end()) {
      window(id) = Window{found->second, 0, row_major(tensor.shape)};
      continue;
    }
    window(id) = new_window(id, row_major(tensor.shape), false);
    if (tensor.data)
      shared.emplace(key, window(id)->buffer);
  }
}

StoredProgram Placer::finish() {
  std::vector<Statement> statements;
  for (std::size_t s = 0; s < copies_.size(); ++s) {
    for (Statement &copy : copies_[s])
      statements.push_back(std::move(copy));
    Statement &statement = program_.statements[s];
    if (!is_dropped_[s] && !std::holds_alternative<View>(statement.body))
      statements.push_back(std::move(statement));
  }
  program_.statements = std::move(statements);
  StoredProgram stored{
      .program = std::move(program_), .windows = {}, .buffers = std::move(buffers_)};
  for (auto &window : windows_)
    stored.windows.push_back(window ? std::move(*window) : Window{kNoBuffer, 0, {}});
  return stored;
}

} // namespace tilefuse::program
