// SPDX-License-Identifier: Apache-2.0
#include "model/plan/kept_plan.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/scanner.h"
#include "lower/pipeline.h"
#include "model/passes.h"
#include "model/plan_version.h"

namespace tilefuse::model {
namespace {

using program::Bytes;
using program::Role;
using Data = std::shared_ptr<const Bytes>;

constexpr std::int64_t kMostOwnBytes = 16 << 20; // of constants that the program does not have

std::string hash_of(const Bytes &data) {
  return content_hash({reinterpret_cast<const char *>(data.data()), data.size()});
}

std::string constant_key(const std::string &hash) { return content_hash("constant " + hash); }

// Constants by the hash of their contents.
std::map<std::string, Data> constants_of(const program::Program &program) {
  std::map<std::string, Data> found;
  for (const program::Tensor &tensor : program.tensors)
    if (tensor.role == Role::Constant && tensor.data)
      found.emplace(hash_of(*tensor.data), tensor.data);
  return found;
}

Data read_constant(runtime::KernelCache &cache, const std::string &hash) {
  const std::optional<std::string> text = cache.get_text(constant_key(hash));
  if (!text)
    return nullptr;
  const auto *first = reinterpret_cast<const std::byte *>(text->data());
  return std::make_shared<const Bytes>(first, first + text->size());
}

// Whether all constants in memory were found, each as large as it is.
bool fill_constants(program::StoredProgram &stored, std::map<std::string, Data> known,
                    runtime::KernelCache &cache) {
  for (std::size_t t = 0; t < stored.windows.size(); ++t) {
    program::Tensor &tensor = stored.program.tensors[t];
    if (tensor.role != Role::Constant || stored.windows[t].buffer == program::kNoBuffer)
      continue;
    Data &data = known[tensor.data_hash];
    if (!data)
      data = read_constant(cache, tensor.data_hash);
    if (!data || std::ssize(*data) != program::elems(tensor.shape) * size_bytes(tensor.type))
      return false;
    tensor.data = data;
  }
  return true;
}

std::string disabled_passes(const PassContext *passes) {
  std::string names;
  for (const ProgramPass &pass : program_passes())
    if (passes != nullptr && passes->is_disabled(pass.name))
      names += fmt::format(" {}", pass.name);
  return names;
}

} // namespace

std::string plan_key(const program::Program &program, const runtime::Device &device,
                     const SessionOptions &options) {
  std::string text = fmt::format("plan {} {}\n{}\n{} {}\n", kPlanVersion, lower::code_version(),
                                 to_text(device.target()), device.alignment(), device.name());
  text += fmt::format("{} {} {}\n", quoted(options.algorithm), quoted(options.split),
                      quoted(options.layout));
  text += fmt::format("{} {} {} {} {} {}\n", static_cast<int>(options.fusion.level),
                      options.fusion.quota, static_cast<int>(options.sharing), options.has_asides,
                      options.arena_bytes, options.is_simplified);
  text += fmt::format("without{}\n", disabled_passes(options.passes));
  if (options.records != nullptr)
    text += fmt::format("{} {}\n", device.driver(), options.records->digest());
  return content_hash(text + program::to_text(program));
}

std::optional<Compiled> find_plan(runtime::KernelCache &cache, const std::string &key,
                                  const program::Program &program) {
  const std::optional<std::string> text = cache.get_text(key);
  if (!text)
    return std::nullopt;
  try {
    Compiled compiled = parse_compiled(*text, "kept plan");
    compiled.is_kept = true;
    if (fill_constants(compiled.stored, constants_of(program), cache))
      return compiled;
  } catch (const Error &) { // made anew
  }
  return std::nullopt;
}

void keep_plan(runtime::KernelCache &cache, const std::string &key, const program::Program &program,
               const Compiled &compiled) {
  std::map<std::string, Data> known = constants_of(program);
  std::vector<std::pair<std::string, std::string>> rows;
  std::int64_t own_bytes = 0;
  for (std::size_t t = 0; t < compiled.stored.windows.size(); ++t) {
    const program::Tensor &tensor = compiled.stored.program.tensors[t];
    if (compiled.stored.windows[t].buffer == program::kNoBuffer || !tensor.data)
      continue;
    const std::string hash = hash_of(*tensor.data);
    if (!known.emplace(hash, tensor.data).second)
      continue;
    own_bytes += std::ssize(*tensor.data);
    if (own_bytes > kMostOwnBytes)
      return;
    rows.emplace_back(
        constant_key(hash),
        std::string(reinterpret_cast<const char *>(tensor.data->data()), tensor.data->size()));
  }
  rows.emplace_back(key, to_text(compiled));
  cache.put_texts(rows);
}

} // namespace tilefuse::model
