// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "kernel/rules.h"
#include "kernel/text/text_parser.h"

namespace tilefuse::kernel {
namespace {

constexpr std::size_t kMaxNumbers = 8;

} // namespace

// After `ldmatrix.`: "x4" or "x4.trans".
StmtRef TextParser::load_matrix(std::string_view name) {
  const Token at = in_.next();
  const std::string_view count = name.substr(0, 2);
  const bool transposed = name.substr(count.size()) == ".trans";
  const bool is_known = count == "x1" || count == "x2" || count == "x4";
  if (!is_known || (!transposed && name.size() > 2))
    require(fmt::format("there is no '{}': needs x1, x2 or x4, then .trans or nothing", at.text),
            at);
  LoadMatrix load{.matrices = name[1] - '0', .transposed = transposed};
  load.to = element();
  in_.expect("=");
  const RegisterRef from = element();
  load.from = from.buffer;
  load.index = from.index;
  require(load_matrix_rule(kernel_, load), at);
  return to_.load_matrix(load);
}

// After `mma.`: the name of a row of the table of core instructions.
StmtRef TextParser::mma(std::string_view name) {
  const Token at = in_.next();
  Mma mma{.op = find_core_op(name)};
  if (mma.op == nullptr)
    require(fmt::format("there is no core instruction '{}'", name), at);
  mma.acc = element();
  in_.expect("+");
  in_.expect("=");
  mma.a = element();
  in_.expect("*");
  mma.b = element();
  require(mma_rule(kernel_, mma), at);
  return to_.mma(mma);
}

LocalRef TextParser::local_element() {
  const RegisterRef at = element();
  return {at.buffer, at.index};
}

// "[1, -2, 3]".
std::vector<std::int64_t> TextParser::numbers(std::string_view what) {
  std::vector<std::int64_t> list;
  in_.expect(what);
  in_.expect("[");
  do {
    list.push_back(in_.expect_integer("an integer"));
  } while (list.size() < kMaxNumbers && in_.accept(","));
  in_.expect("]");
  return list;
}

void TextParser::tensor_map() {
  const Token at = in_.peek();
  TensorMap map{.name = new_name()};
  in_.expect("=");
  map.tensor = buffer_name();
  in_.expect("+");
  map.offset = in_.expect_integer("an offset");
  map.dims = numbers("dims");
  map.strides = numbers("strides");
  map.box = numbers("box");
  if (in_.is("lower")) {
    map.lower = numbers("lower");
    map.upper = numbers("upper");
  }
  if (in_.is("steps"))
    map.steps = numbers("steps");
  in_.expect("swizzle");
  map.swizzle = static_cast<int>(ranged("a swizzle", 32, 128));
  require(tensor_map_rule(kernel_, map), at);
  const std::string name = map.name;
  maps_.emplace(name, to_.tensor_map(std::move(map)));
}

StmtRef TextParser::ticket() {
  const Token at = in_.peek();
  Ticket ticket{.to = local_element()};
  in_.expect("=");
  const RegisterRef from = element();
  ticket.counts = from.buffer;
  ticket.index = from.index;
  require(ticket_rule(kernel_, ticket), at);
  return to_.ticket(ticket);
}

StmtRef TextParser::mbarrier(MbarrierOp op) {
  const Token at = in_.peek();
  Mbarrier mbarrier{.op = op, .at = local_element()};
  if (op != MbarrierOp::Arrive)
    mbarrier.value = int_expr("the value of an mbarrier");
  if (in_.accept("rank"))
    mbarrier.rank = int_expr("the rank of a block");
  mbarrier.for_cluster = in_.accept("cluster");
  require(mbarrier_rule(kernel_, mbarrier), at);
  return to_.mbarrier(mbarrier);
}

std::vector<ExprRef> TextParser::int_list(std::string_view what) {
  std::vector<ExprRef> list;
  in_.expect("[");
  do {
    list.push_back(int_expr(what));
  } while (list.size() < kMaxNumbers && in_.accept(","));
  in_.expect("]");
  return list;
}

MapId TextParser::map_name() {
  const auto found = maps_.find(std::string(in_.peek().text));
  if (found == maps_.end())
    in_.fail("the name of a tensor map");
  in_.next();
  return found->second;
}

StmtRef TextParser::tensor_store() {
  const Token at = in_.peek();
  TensorStore store{.map = map_name()};
  store.at = int_list("a coordinate");
  in_.expect("=");
  store.from = local_element();
  require(tensor_store_rule(kernel_, store), at);
  return to_.tensor_store(std::move(store));
}

StmtRef TextParser::tensor_copy() {
  const Token at = in_.peek();
  TensorCopy copy{.to = local_element()};
  in_.expect("=");
  copy.map = map_name();
  copy.at = int_list("a coordinate");
  if (in_.accept("offsets"))
    copy.offsets = int_list("an offset");
  in_.expect("signals");
  copy.signals = local_element();
  if (in_.accept("ranks"))
    copy.ranks = int_expr("the ranks of blocks");
  require(tensor_copy_rule(kernel_, copy), at);
  return to_.tensor_copy(std::move(copy));
}

// After `wgmma.`: the name of a row of the table of core instructions.
StmtRef TextParser::wgmma(std::string_view name) {
  const Token at = in_.next();
  Wgmma wgmma{.op = find_core_op(name)};
  if (wgmma.op == nullptr)
    require(fmt::format("there is no core instruction '{}'", name), at);
  wgmma.acc = element();
  in_.expect("+");
  in_.expect("=");
  wgmma.a = local_element();
  in_.expect("*");
  wgmma.b = local_element();
  in_.expect("rows");
  wgmma.a_row_bytes = static_cast<int>(ranged("bytes of a row", 32, 128));
  wgmma.b_row_bytes = in_.peek().kind == TokenKind::Integer
                          ? static_cast<int>(ranged("bytes of a row", 32, 128))
                          : wgmma.a_row_bytes;
  if (in_.accept("a_panel"))
    wgmma.a_panel = ranged("a panel", 1, kMaxBlocks);
  if (in_.accept("b_panel"))
    wgmma.b_panel = ranged("a panel", 1, kMaxBlocks);
  if (in_.accept("a_lines"))
    wgmma.a_lines = ranged("lines", 1, kMaxBlocks);
  if (in_.accept("b_lines"))
    wgmma.b_lines = ranged("lines", 1, kMaxBlocks);
  if (in_.accept("when"))
    wgmma.accumulate = expr();
  require(wgmma_rule(kernel_, wgmma), at);
  return to_.wgmma(wgmma);
}

StmtRef TextParser::register_limit(bool more) {
  const Token at = in_.peek();
  const RegisterLimit limit{more, static_cast<int>(ranged("registers", 24, 240))};
  require(register_limit_rule(limit), at);
  return to_.register_limit(limit);
}

} // namespace tilefuse::kernel
