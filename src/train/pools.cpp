// SPDX-License-Identifier: Apache-2.0
#include "train/pools.h"

#include <span>

#include "base/error.h"

namespace tilefuse::train {

Pools::Pools(runtime::Device &device, const UpdateProgram &update, double loss_scale,
             const Rows &rows)
    : device_(device) {
  const program::Program &program = update.program;
  const auto elems = [&](std::size_t input) {
    return program::elems(program[program.inputs.at(input)].shape);
  };
  for (const State &state : update.states)
    add(state.name, state.is_whole ? rows.parameters * kRow : elems(state.input));
  add("learned", rows.learned * kRow);
  add("rate", elems(update.rate));
  write("loss scale", {static_cast<float>(loss_scale)});
}

void Pools::add(const std::string &name, std::int64_t elems) {
  const std::int64_t bytes = elems * static_cast<std::int64_t>(sizeof(float));
  Pool &pool = pools_[name];
  pool = {device_.allocate(bytes), bytes};
  device_.fill_zero({pool.memory.get(), 0, bytes});
}

runtime::Binding Pools::whole(const std::string &name) const {
  const auto found = pools_.find(name);
  TILEFUSE_CHECK(found != pools_.end(), "there is no such pool");
  return {found->second.memory.get(), 0, found->second.bytes};
}

runtime::Binding Pools::rows(const std::string &name, std::int64_t count) const {
  return elems(name, 0, count * kRow);
}

runtime::Binding Pools::elems(const std::string &name, std::int64_t first,
                              std::int64_t count) const {
  constexpr auto size = static_cast<std::int64_t>(sizeof(float));
  return {whole(name).memory, first * size, count * size};
}

runtime::Binding Pools::part(const std::string &name, const PooledParameter &entry) const {
  return {whole(name).memory, entry.offset(), entry.bytes()};
}

std::int64_t Pools::bytes() const {
  std::int64_t sum = 0;
  for (const auto &[name, pool] : pools_)
    sum += pool.bytes;
  return sum;
}

void Pools::write(const std::string &name, const std::vector<float> &values) {
  device_.write(whole(name), std::as_bytes(std::span(values)));
}

std::vector<float> Pools::read(const std::string &name) const {
  const runtime::Binding place = whole(name);
  std::vector<float> values(static_cast<std::size_t>(place.bytes) / sizeof(float));
  device_.read(place, std::as_writable_bytes(std::span(values)));
  return values;
}

std::vector<std::string> Pools::names() const {
  std::vector<std::string> names;
  for (const auto &[name, pool] : pools_)
    names.push_back(name);
  return names;
}

} // namespace tilefuse::train
