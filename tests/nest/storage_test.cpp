// SPDX-License-Identifier: Apache-2.0
// Storage and flattening agree: nests run over assigned buffers, whose memory holds garbage where
// no zeros are promised, compute what the program means.
#include <gtest/gtest.h>

#include "nest/convolution.h"
#include "nest/evaluate/reference.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "nest/fold/fold.h"
#include "nest/stored.h"

namespace tilefuse {
namespace {

using program::Agg;
using program::Contraction;
using program::HostTensor;
using program::Program;
using program::Role;
using program::Shape;
using program::TensorId;
using test::affine;

constexpr DType F32 = DType::F32;

// Aggregates 3 x 3 windows of the last two dimensions.
TensorId pool(Program &program, TensorId in, Agg agg, std::int64_t stride, std::int64_t pad) {
  const Shape &from = program[in].shape;
  const Shape to = {from[0], from[1], (from[2] + 2 * pad - 3) / stride + 1,
                    (from[3] + 2 * pad - 3) / stride + 1};
  Contraction body;
  body.agg = agg;
  body.indices = {"n", "c", "y", "x", "r", "s"};
  for (std::size_t d = 0; d < 4; ++d)
    body.out.push_back(affine(6, {{d, 1}}));
  body.in = {{in,
              {affine(6, {{0, 1}}), affine(6, {{1, 1}}), affine(6, {{2, stride}, {4, 1}}, -pad),
               affine(6, {{3, stride}, {5, 1}}, -pad)}}};
  body.constraints = {{affine(6, {{4, 1}}), 3}, {affine(6, {{5, 1}}), 3}};
  const TensorId out = test::add_tensor(program, F32, to);
  program.statements.push_back({out, body, "Pool"});
  return out;
}

// Copies `in` into the channels of a result that start at `at`, over `init` when there is one.
TensorId insert(Program &program, TensorId in, std::int64_t channels, std::int64_t at,
                std::optional<TensorId> init) {
  Shape to = program[in].shape;
  to[1] = channels;
  Contraction body;
  body.agg = Agg::Assign;
  body.init = init;
  program::Access access{in, {}};
  for (std::size_t d = 0; d < 4; ++d) {
    body.indices.push_back(std::string(1, "ncyx"[d]));
    body.out.push_back(affine(4, {{d, 1}}, d == 1 ? at : 0));
    access.subscripts.push_back(affine(4, {{d, 1}}));
  }
  body.in = {access};
  const TensorId out = test::add_tensor(program, F32, to);
  program.statements.push_back({out, body, "Concat"});
  return out;
}

TensorId relu(Program &program, TensorId x) {
  const TensorId out = test::add_tensor(program, F32, program[x].shape);
  const program::Expr expr =
      program::call(ScalarOp::Max, {program::operand(0, F32), program::constant(0, F32)});
  program.statements.push_back({out, program::Map{expr, {x}}, "Relu"});
  return out;
}

TensorId convolve(Program &program, TensorId x, std::mt19937 &random,
                  test::ConvolutionShape shape) {
  const Shape &from = program[x].shape;
  shape.batch = from[0];
  shape.in = from[1];
  shape.height = from[2];
  shape.width = from[3];
  const TensorId filter =
      test::add_constant(program, F32, {shape.out, shape.in, shape.kernel, shape.kernel}, random);
  const TensorId out = test::add_tensor(
      program, F32, {shape.batch, shape.out, shape.out_height(), shape.out_width()});
  program.statements.push_back(test::convolution(out, x, filter, shape));
  return out;
}

// A network in miniature: convolutions, pools, a concatenation with a gap, and a reshape at its
// end.
Program network(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random() % static_cast<unsigned>(hi - lo + 1));
  };
  Program program;
  const TensorId x =
      test::add_tensor(program, F32, {pick(1, 2), 3, pick(5, 9), pick(5, 9)}, Role::Input);
  program.inputs = {x};
  TensorId y =
      relu(program, convolve(program, x, random, {.out = pick(1, 5), .stride = pick(1, 2)}));
  y = pool(program, y, random() % 2 == 0 ? Agg::Max : Agg::Sum, pick(1, 2), 1);
  const TensorId a =
      relu(program, convolve(program, y, random, {.out = pick(1, 4), .kernel = 1, .pad = 0}));
  const TensorId b = convolve(program, y, random, {.out = pick(1, 4)});
  const std::int64_t gap = pick(0, 1);
  const std::int64_t first = program[a].shape[1];
  const std::int64_t channels = first + gap + program[b].shape[1];
  y = insert(program, a, channels, 0, std::nullopt);
  y = insert(program, b, channels, first + gap, y);
  y = convolve(program, relu(program, y), random, {.out = 3, .kernel = 1, .pad = pick(0, 1)});
  const TensorId flat = test::add_tensor(program, F32, {program::elems(program[y].shape)});
  program.statements.push_back({flat, program::View{y}, "Flatten"});
  program.outputs = {flat};
  return program;
}

// Copies between a host tensor and its window.
void transfer(HostTensor &host, test::Memory &memory, TensorId id, bool to_memory) {
  std::int64_t i = 0;
  test::for_each_point(host.shape, [&](const Shape &at) {
    if (to_memory)
      memory.set(id, at, program::get(host, i));
    else
      program::set(host, i, memory.get(id, at));
    ++i;
  });
}

HostTensor run_stored(const Program &program, HostTensor input) {
  const program::StoredProgram stored = program::assign_storage(program);
  test::Memory memory(stored);
  memory.poison();
  for (std::size_t t = 0; t < stored.program.tensors.size(); ++t) {
    const program::Tensor &tensor = stored.program.tensors[t];
    const TensorId id{static_cast<int>(t)};
    if (tensor.role == Role::Input)
      transfer(input, memory, id, true);
    if (tensor.role == Role::Constant) {
      HostTensor constant{tensor.name, tensor.type, tensor.shape, *tensor.data};
      transfer(constant, memory, id, true);
    }
  }
  for (const program::Statement &statement : stored.program.statements)
    for (const nest::FlatStatement &flat : nest::flatten(stored, statement))
      memory.run(flat, nest::merge_indices(flat.nest));
  const TensorId out = stored.program.outputs.at(0);
  HostTensor result = program::make_host_tensor("out", F32, stored.program[out].shape);
  transfer(result, memory, out, false);
  return result;
}

TEST(Storage, NestsOverAssignedBuffersComputeTheProgram) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Program program = network(seed);
    const program::Tensor &x = program[program.inputs[0]];
    HostTensor input = program::make_host_tensor(x.name, x.type, x.shape);
    for (std::int64_t i = 0; i < program::elems(x.shape); ++i)
      program::set(input, i, static_cast<double>((i * 7 + seed) % 9) - 4);
    const HostTensor expected = nest::evaluate_program(program, {{x.name, input}}).at(0);
    const HostTensor got = run_stored(program, input);
    ASSERT_EQ(got.data, expected.data) << "seed " << seed << "\n" << program::to_text(program);
  }
}

} // namespace
} // namespace tilefuse
