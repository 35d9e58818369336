// SPDX-License-Identifier: Apache-2.0
// A language without pointers, conversions in expressions, or C's declarations and loops, written
// by the printer of C-like languages with the overrides that it needs.
#include "emit/c/c_emitter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/c/c_expr.h"
#include "emit/c/c_like.h"
#include "emit/c/c_names.h"
#include "kernel/text/text.h"

namespace tilefuse::emit {
namespace {

class Shader final : public CEmitter {
public:
  Package emit(const kernel::Kernel &kernel, const Target &target) const override {
    return c_like_package(kernel, target, *this, {});
  }
  const CWords &words() const override {
    static constexpr CWords kWords = {.name = "shaders"};
    return kWords;
  }
  std::string unit(CContext &cx, const ProgramText &text) const override {
    std::string unit;
    for (const kernel::Buffer &buffer : cx.kernel.buffers)
      unit +=
          fmt::format("var<storage> {}: array<{}>;\n", buffer.name, memory_elem(buffer.type.elem));
    return unit + "fn main() {\n" + text.statements + "}\n";
  }
  std::string let(const std::string &type, const std::string &name,
                  const std::string &value) const override {
    return fmt::format("let {}: {} = {};", name, type, value);
  }
  std::string loop(const LoopText &text) const override {
    return fmt::format("for (var {}: {} = {}; {} {} {}; {} += {}) {{", text.name, text.type,
                       text.begin, text.name, text.is_down ? ">" : "<", text.end, text.name,
                       text.step);
  }
  std::string barrier(const CContext &, const kernel::Barrier &) const override {
    return "workgroupBarrier();";
  }
  std::string prefetch(const std::string &) const override { return {}; }
  std::vector<std::string> intrinsic(CContext &, const kernel::Intrinsic &) const override {
    refuse("an intrinsic");
  }
  std::string value_elem(DType elem) const override {
    return elem == DType::I32 ? "i32" : is_float(elem) ? "f32" : "bool";
  }
  std::string memory_elem(DType elem) const override {
    return is_half(elem) ? "u32" : value_elem(elem);
  }
  std::string vector(const std::string &elem, int lanes) const override {
    return fmt::format("vec{}<{}>", lanes, elem);
  }
  std::string compose(const std::string &vector_type, const std::string &lanes) const override {
    return fmt::format("{}({})", vector_type, lanes);
  }
  std::string lane(const std::string &value, int lane) const override {
    return fmt::format("{}[{}]", value, lane);
  }
  std::string select(int, const std::string &condition, const std::string &a,
                     const std::string &b) const override {
    return fmt::format("select({}, {}, {})", b, a, condition);
  }
  std::string convert(const kernel::Type &, const kernel::Type &to,
                      const std::string &value) const override {
    return fmt::format("{}({})", value_elem(to.elem), value);
  }
  // Two halves of a word.
  std::string load(DType elem, int lanes, const std::string &base,
                   const std::string &index) const override {
    std::string text;
    for (int i = 0; i < lanes; ++i) {
      const std::string at = i == 0 ? index : fmt::format("{} + {}", index, i);
      const std::string element =
          is_half(elem) ? fmt::format("unpack2x16float({}[({}) / 2])[({}) % 2]", base, at, at)
                        : fmt::format("{}[{}]", base, at);
      text += (i == 0 ? "" : ", ") + element;
    }
    return lanes == 1 ? text : compose(vector(value_elem(elem), lanes), text);
  }
  std::string store(DType, int, const std::string &base, const std::string &index,
                    const std::string &value) const override {
    return fmt::format("{}[{}] = {}", base, index, value);
  }
  // What lies outside of an array may be read there.
  std::string guarded_load(CContext &cx, const kernel::Type &type,
                           const kernel::Load &load) const override {
    return load_of(cx, type, load);
  }
  std::string guarded_store(CContext &, const kernel::Store &, const std::string &) const override {
    refuse("a store of some lanes");
  }
  bool has_wide(const CContext &, const kernel::Type &) const override { return false; }
  std::string wide_load(const CContext &, const VectorText &) const override { return {}; }
  std::string wide_store(const CContext &, const VectorText &, const std::string &) const override {
    return {};
  }

private:
  std::string load_of(CContext &cx, const kernel::Type &type, const kernel::Load &load) const {
    const DType elem = cx.kernel[load.buffer].type.elem;
    std::string lanes;
    for (int i = 0; i < type.lanes; ++i)
      lanes += (i == 0 ? "" : ", ") +
               select(1, fmt::format("{} < {}", i, expression(cx, load.valid)),
                      this->load(elem, 1, buffer_name(cx, load.buffer),
                                 fmt::format("{} + {}", bare(expression(cx, load.index)), i)),
                      fill_literal(cx, type, load.fill));
    return compose(vector(value_elem(elem), type.lanes), lanes);
  }
};

TEST(CEmitter, ALanguageWithoutPointers) {
  const kernel::Kernel kernel =
      kernel::parse_kernel("kernel k blocks 1 block_size 64 {\n"
                           "  global const b0 f16[64]\n"
                           "  global b1 f32[64]\n"
                           "  for i in 0..4 {\n"
                           "    let x = f32(b0[i * 16 + lane])\n"
                           "    let y = b1[i * 4 .. 4 valid lane fill 0]\n"
                           "    b1[lane] = select(x < f32(1), x, f32(2))\n"
                           "  }\n"
                           "  barrier\n"
                           "}\n");
  Target target;
  target.max_group = 64;
  EXPECT_EQ(
      Shader().emit(kernel, target).code,
      "var<storage> b0: array<u32>;\n"
      "var<storage> b1: array<f32>;\n"
      "fn main() {\n"
      "  for (var v0: i32 = 0; v0 < 4; v0 += 1) {\n"
      "    let v1: f32 = f32(unpack2x16float(b0[(v0 * 16 + lane) / 2])[(v0 * 16 + lane) % 2]);\n"
      "    let v2: vec4<f32> = vec4<f32>(select(0.0f, b1[v0 * 4 + 0], 0 < lane), "
      "select(0.0f, b1[v0 * 4 + 1], 1 < lane), select(0.0f, b1[v0 * 4 + 2], 2 < lane), "
      "select(0.0f, b1[v0 * 4 + 3], 3 < lane));\n"
      "    b1[lane] = select(2.0f, v1, (v1 < 1.0f));\n"
      "  }\n"
      "  workgroupBarrier();\n"
      "}\n");
}

} // namespace
} // namespace tilefuse::emit
