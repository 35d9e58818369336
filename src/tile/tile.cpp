// SPDX-License-Identifier: Apache-2.0
#include "tile/tile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/embedded.h"
#include "base/error.h"
#include "tile/functions.h"
#include "tile/instantiate.h"
namespace tilefuse::tile {

struct Library::State {
  FunctionTable functions;
};

Library::Library() : state_(std::make_unique<State>()) {}
Library::~Library() = default;
Library::Library(Library &&) noexcept = default;
Library &Library::operator=(Library &&) noexcept = default;

void Library::add(std::string_view text, const std::string &file) {
  add_functions(state_->functions, text, file);
}

bool Library::has(const std::string &function) const {
  return state_->functions.count(function) != 0;
}

std::vector<std::string> Library::functions() const {
  std::vector<std::string> names;
  for (const auto &[name, function] : state_->functions)
    names.push_back(name);
  return names;
}

std::vector<program::TensorId>
Library::instantiate(const std::string &function, std::span<const program::TensorId> args,
                     const Attributes &attributes, program::Program &program,
                     const std::string &origin, std::int64_t least_size) const {
  return tile::instantiate(state_->functions, function, args, attributes,
                           {program, origin, least_size});
}

namespace {

std::string read_text(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in)
    throw Error(ErrorCode::Io, "the file cannot be read", path.string());
  return text;
}

const Function &find_function(const FunctionTable &table, const std::vector<std::string> &names,
                              const std::string &wanted, const std::string &file) {
  if (wanted.empty())
    return table.at(names.back());
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    throw Error(ErrorCode::Shape, fmt::format("there is no function '{}'", wanted), file,
                {fmt::format("functions are {}", fmt::join(names, ", "))});
  return table.at(wanted);
}

// Of a parameter that nothing is bound to: its declared sizes where they are numbers, in f32.
std::pair<DType, program::Shape> own_type(const Parameter &parameter, const Function &function,
                                          const std::string &file) {
  program::Shape shape;
  for (const ParameterDim &dim : parameter.dims.value_or(std::vector<ParameterDim>()))
    if (const auto *size = std::get_if<std::int64_t>(&dim))
      shape.push_back(*size);
  if (!parameter.dims || shape.size() != parameter.dims->size())
    throw Error(
        ErrorCode::Shape,
        fmt::format("{} needs the type and shape of tensor {}", function.name, parameter.name),
        file,
        {fmt::format(
            "--tensor \"{}=f32[1, 3, 8, 8]\" gives them; --function names another function",
            parameter.name)});
  return {DType::F32, shape};
}

} // namespace

Library read_library(const std::string &directory) {
  std::error_code problem;
  std::vector<std::filesystem::path> paths;
  std::filesystem::directory_iterator entry(directory, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem))
    if (entry->path().extension() == ".tile")
      paths.push_back(entry->path());
  if (problem)
    throw Error(ErrorCode::Io,
                fmt::format("the operator library cannot be read: {}", problem.message()),
                directory);
  if (paths.empty())
    throw Error(ErrorCode::Io, "the operator library holds no *.tile file", directory);
  std::sort(paths.begin(), paths.end());
  Library library;
  for (const std::filesystem::path &path : paths)
    library.add(read_text(path), path.string());
  return library;
}

Library operator_library() {
  Library library;
  for (const EmbeddedFile &file : embedded_files("ops"))
    library.add(file.text, std::string(file.path));
  return library;
}

const Library &operators() {
  static const Library library = operator_library();
  return library;
}

std::vector<std::string> parameters(std::string_view text, const std::string &file,
                                    const std::string &name) {
  FunctionTable table;
  const std::vector<std::string> names = add_functions(table, text, file);
  if (names.empty())
    throw Error(ErrorCode::Syntax, "the text holds no function", file);
  std::vector<std::string> found;
  for (const Parameter &parameter : find_function(table, names, name, file).parameters)
    found.emplace_back(plain_name(parameter.name));
  return found;
}

program::Program to_program(std::string_view text, const std::string &file,
                            const std::map<std::string, std::pair<DType, program::Shape>> &tensors,
                            const Attributes &attributes, const std::string &name) {
  FunctionTable table;
  const std::vector<std::string> names = add_functions(table, text, file);
  if (names.empty())
    throw Error(ErrorCode::Syntax, "the text holds no function", file);
  const Function &function = find_function(table, names, name, file);

  program::Program result;
  result.name = function.name;
  std::size_t bound = 0;
  for (const Parameter &parameter : function.parameters) {
    const auto tensor = tensors.find(std::string(plain_name(parameter.name)));
    const auto &[type, shape] =
        tensor == tensors.end() ? own_type(parameter, function, file) : tensor->second;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 1; }))
      throw Error(ErrorCode::Shape, fmt::format("tensor {} has a size below 1", parameter.name),
                  file);
    std::int64_t elems = 1;
    for (const std::int64_t dim : shape)
      if (__builtin_mul_overflow(elems, dim, &elems) || elems > (std::int64_t{1} << 62))
        throw Error(ErrorCode::Limit,
                    fmt::format("tensor {}[{}] has more than 2^62 elements", parameter.name,
                                fmt::join(shape, ", ")),
                    file);
    result.inputs.push_back(
        result.add({parameter.name, type, shape, program::Role::Input, nullptr}));
    bound += tensor == tensors.end() ? 0 : 1;
  }
  if (bound != tensors.size())
    throw Error(
        ErrorCode::Shape,
        fmt::format("{} tensors are given, {} takes {}", tensors.size(), function.name, bound),
        file);
  result.outputs = instantiate(table, function.name, result.inputs, attributes, {result, ""});
  program::verify(result);
  return result;
}

} // namespace tilefuse::tile
