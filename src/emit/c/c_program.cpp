// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_program.h"

#include <fmt/format.h>

#include "base/index.h"
#include "emit/c/c_matrix.h"
#include "emit/c/c_names.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::BufferId;
using kernel::Kernel;
using kernel::Space;

constexpr std::int64_t kLocalAlign = 128;
constexpr std::int64_t kBoxAlign = 1024; // of what tensor copies fill
constexpr std::string_view kByteType = "uchar";
constexpr std::string_view kOffsetType = "ulong";

// Where each local buffer lies when they share one array; its size at the end.
std::vector<std::int64_t> local_offsets(const Kernel &kernel) {
  const std::int64_t align = local_align(kernel);
  std::vector<std::int64_t> offsets{0};
  for (const kernel::Buffer &buffer : kernel.buffers) {
    const bool is_local = buffer.space == Space::Local;
    const std::int64_t bytes = is_local ? buffer.elems * size_bytes(buffer.type.elem) : 0;
    offsets.push_back(offsets.back() + (bytes + align - 1) / align * align);
  }
  return offsets;
}

std::string declare_registers(CContext &cx, BufferId id) {
  const kernel::Buffer &buffer = cx.kernel[id];
  if (cx.fragments[at(id)])
    return declare_words(cx, id);
  const std::string type = value_type(cx, buffer.type);
  if (!cx.split[at(id)])
    return fmt::format("  {} {}[{}];\n", type, buffer_name(cx, id), buffer.elems);
  std::string text;
  for (std::int64_t i = 0; i < buffer.elems; ++i)
    text += fmt::format("  {} {};\n", type, register_name(cx, id, i));
  return text;
}

std::string declare_local(const CContext &cx, BufferId id, const std::string &aligned) {
  const kernel::Buffer &buffer = cx.kernel[id];
  const std::string name = buffer_name(cx, id);
  const std::string elem = cx.language.memory_elem(buffer.type.elem);
  const std::string_view held = traits(buffer.type.elem).c_bits;
  if (held == elem)
    return fmt::format("  {}{} {}[{}]{};\n", cx.scratch_array(), elem, name, buffer.elems,
                       cx.kernel.block_size > 1 ? aligned : "");
  return fmt::format("  {0}{1} {2}_bits[{3}];\n  {4}{5}* {2} = ({4}{5}*){2}_bits;\n",
                     cx.scratch_array(), held, name, buffer.elems, cx.scratch_space(), elem);
}

// The block's memory as the launch gives it.
std::string declare_sized_local(const CContext &cx, std::string_view declaration) {
  std::string text = fmt::format("  {}\n", declaration);
  const std::vector<std::int64_t> offsets = local_offsets(cx.kernel);
  for (std::size_t i = 0; i < cx.kernel.buffers.size(); ++i) {
    const kernel::Buffer &buffer = cx.kernel.buffers[i];
    const std::string elem = cx.language.memory_elem(buffer.type.elem);
    if (buffer.space == Space::Local)
      text += fmt::format("  {0}* {1} = ({0}*)(tf_local + {2});\n", elem,
                          buffer_name(cx, BufferId{static_cast<int>(i)}), offsets[i]);
  }
  return text;
}

struct Parts {
  std::string parameters;      // of the entry point
  std::string arguments;       // handed on to an outlined body
  std::string body_parameters; // with the local buffers
  std::string locals;          // declarations
  std::string registers;
};

// A global buffer comes as the memory it lies in and a byte offset.
void declare_argument(const CContext &cx, BufferId id, const std::string &declaration,
                      Parts &parts) {
  const std::string pointer = pointer_type(cx, cx.kernel[id]);
  parts.parameters += fmt::format(
      "{}{}{}{}* m{}, const {} o{}", parts.parameters.empty() ? "" : ", ", cx.words().global_space,
      cx.kernel[id].written ? "" : "const ", kByteType, to_int(id), kOffsetType, to_int(id));
  parts.locals +=
      fmt::format("  {} = ({})(m{} + o{});\n", declaration, pointer, to_int(id), to_int(id));
}

Parts declare(CContext &cx, const CProgram &program) {
  Parts parts;
  const bool is_sized = !program.sized_local.empty();
  if (is_sized)
    parts.locals += declare_sized_local(cx, program.sized_local);
  parts.body_parameters = fmt::format("const {} block", cx.index_type());
  parts.arguments = fmt::format("({}){}", cx.index_type(), cx.words().block_index);
  for (std::size_t i = 0; i < cx.kernel.buffers.size(); ++i) {
    const BufferId id{static_cast<int>(i)};
    const kernel::Buffer &buffer = cx.kernel[id];
    const std::string name = buffer_name(cx, id);
    if (buffer.space == Space::Register) {
      parts.registers += declare_registers(cx, id);
      continue;
    }
    const std::string parameter =
        fmt::format("{} {} {}", pointer_type(cx, buffer), cx.words().restrict_word, name);
    parts.body_parameters += ", " + parameter;
    parts.arguments += ", " + name;
    if (buffer.space == Space::Local && is_sized)
      continue;
    if (buffer.space == Space::Local)
      parts.locals += declare_local(cx, id, program.aligned);
    else
      declare_argument(cx, id, parameter, parts);
  }
  parts.parameters += program.parameters;
  return parts;
}

std::string print_functions(CContext &cx, const ProgramText &text, const CProgram &program) {
  const Parts parts = declare(cx, program);
  const std::string head =
      fmt::format("{} {}({}) {{\n", program.entry, text.symbol, parts.parameters);
  if (text.outlined)
    return fmt::format("{} void {}_body({}) {{\n{}{}}}\n\n{}{}  {}_body({});\n}}\n",
                       cx.words().outlined, text.symbol, parts.body_parameters, parts.registers,
                       text.statements, head, parts.locals, text.symbol, parts.arguments);
  std::string indices =
      fmt::format("  const {0} block = ({0}){1};\n", cx.index_type(), cx.words().block_index);
  if (cx.kernel.block_size > 1)
    indices +=
        fmt::format("  const {0} lane = ({0}){1};\n", cx.index_type(), cx.words().lane_index);
  return head + program.begin + parts.locals + indices + program.prepare + parts.registers +
         text.statements + "}\n";
}

} // namespace

std::int64_t local_align(const Kernel &kernel) {
  return kernel.maps.empty() ? kLocalAlign : kBoxAlign;
}

std::int64_t local_bytes(const Kernel &kernel) { return local_offsets(kernel).back(); }

std::string c_program(CContext &cx, const ProgramText &text, const CProgram &program) {
  const std::string functions = print_functions(cx, text, program);
  std::string unit = program.prologue;
  for (const auto &[name, definition] : cx.helpers)
    unit += fmt::format("#ifndef {0}_defined\n#define {0}_defined\n{1}#endif\n", name, definition);
  return unit + functions;
}

} // namespace tilefuse::emit
