// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "kernel/build.h"
#include "kernel/rules.h"
#include "kernel/text.h"

namespace tilefuse::kernel {
namespace {

constexpr int kMaxDepth = 400;
constexpr std::int64_t kMaxBlockSize = 1 << 16;
constexpr std::int64_t kMaxPending = 64;
constexpr std::int64_t kMaxWgmmaPending = 7;
constexpr std::size_t kMaxNumbers = 8;
constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 40;

struct Infix {
  ScalarOp op;
  int level;
};

constexpr std::array<Infix, 13> kInfix = {{{ScalarOp::Or, 1},
                                           {ScalarOp::And, 2},
                                           {ScalarOp::Lt, 3},
                                           {ScalarOp::Le, 3},
                                           {ScalarOp::Gt, 3},
                                           {ScalarOp::Ge, 3},
                                           {ScalarOp::Eq, 3},
                                           {ScalarOp::Ne, 3},
                                           {ScalarOp::Add, 4},
                                           {ScalarOp::Sub, 4},
                                           {ScalarOp::Mul, 5},
                                           {ScalarOp::Div, 5},
                                           {ScalarOp::Mod, 5}}};

std::optional<Type> parse_type(std::string_view name) {
  const std::size_t cross = name.rfind('x');
  const auto elem = parse_dtype(name.substr(0, cross));
  if (!elem)
    return std::nullopt;
  if (cross == std::string_view::npos)
    return Type{*elem, 1};
  int lanes = 0;
  const char *end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + cross + 1, end, lanes);
  if (result.ec != std::errc() || result.ptr != end || lanes < 2 || lanes > kMaxLanes)
    return std::nullopt;
  return Type{*elem, lanes};
}

// An access as written, before it is known to be read or written.
struct Access {
  BufferId buffer{};
  ExprRef index = nullptr;
  int lanes = 1;
  std::int64_t stride = 1;
  ExprRef valid = nullptr;
  double fill = 0;
};

class Parser {
public:
  Parser(std::string_view text, const std::string &file) : in_(text, file), to_(kernel_) {}
  Kernel run();

private:
  // Counts one level of nesting while it lives.
  struct Nesting {
    explicit Nesting(Parser &parser) : parser(parser) { parser.deeper(); }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;
    Parser &parser;
  };

  void deeper();
  void require(const std::string &broken_rule, const Token &at) const;
  std::int64_t ranged(std::string_view what, std::int64_t low, std::int64_t high);
  void header();
  bool buffer();
  StmtRef body();
  StmtRef stmt();
  StmtRef let();
  StmtRef loop(ForKind kind);
  StmtRef branch();
  StmtRef prefetch();
  StmtRef barrier();
  StmtRef load_matrix(std::string_view name);
  StmtRef mma(std::string_view name);
  StmtRef async_copy();
  void tensor_map();
  std::vector<std::int64_t> numbers(std::string_view what);
  StmtRef mbarrier(MbarrierOp op);
  StmtRef tensor_copy();
  StmtRef wgmma(std::string_view name);
  StmtRef register_limit(bool more);
  std::vector<ExprRef> int_list(std::string_view what);
  RegisterRef element();
  LocalRef local_element() {
    const RegisterRef at = element();
    return {at.buffer, at.index};
  }
  StmtRef store();
  std::string new_name();
  BufferId buffer_name();
  Access access(BufferId buffer);

  ExprRef expr(int level = 1);
  ExprRef primary();
  ExprRef call();
  ExprRef typed(Type type);
  ExprRef name();
  ExprRef load(BufferId buffer);
  ExprRef apply(ScalarOp op, std::vector<ExprRef> args, const Token &at);
  ExprRef int_expr(std::string_view what);

  Scanner in_;
  Kernel kernel_;
  Builder to_;
  std::unordered_map<std::string, BufferId> buffers_;
  std::unordered_map<std::string, MapId> maps_;
  std::unordered_map<std::string, VarId> variables_;
  int depth_ = 0;
};

void Parser::deeper() {
  if (++depth_ > kMaxDepth) {
    throw Error(ErrorCode::Limit, fmt::format("nested more than {} deep", kMaxDepth),
                in_.where(in_.peek()));
  }
}

void Parser::require(const std::string &broken_rule, const Token &at) const {
  if (!broken_rule.empty())
    throw Error(ErrorCode::Type, broken_rule, in_.where(at));
}

std::int64_t Parser::ranged(std::string_view what, std::int64_t low, std::int64_t high) {
  const Token at = in_.peek();
  const std::int64_t value = in_.expect_integer(what);
  if (value < low || value > high) {
    throw Error(ErrorCode::Limit,
                fmt::format("{} needs to be from {} to {}; got {}", what, low, high, value),
                in_.where(at));
  }
  return value;
}

Kernel Parser::run() {
  header();
  while (buffer()) {
  }
  while (in_.accept("tensor_map"))
    tensor_map();
  kernel_.body = body();
  if (!in_.at_end())
    in_.fail("the end of the text");
  return std::move(kernel_);
}

void Parser::header() {
  in_.expect("kernel");
  const bool is_quoted = in_.peek().kind == TokenKind::String;
  kernel_.name =
      is_quoted ? in_.expect_string("the kernel's name") : in_.expect_name("the kernel's name");
  in_.expect("blocks");
  kernel_.blocks = ranged("the number of blocks", 1, kMaxBlocks);
  in_.expect("block_size");
  kernel_.block_size = ranged("the block size", 1, kMaxBlockSize);
  if (in_.accept("flops"))
    kernel_.flops = in_.expect_number("a number of operations");
  if (in_.accept("bytes"))
    kernel_.bytes = in_.expect_number("a number of bytes");
  in_.expect("{");
}

std::string Parser::new_name() {
  const Token at = in_.peek();
  std::string name = in_.expect_name("a name");
  if (!is_identifier(name))
    throw Error(ErrorCode::Syntax, fmt::format("'{}' cannot be a name", name), in_.where(at));
  if (buffers_.contains(name) || variables_.contains(name) || maps_.contains(name)) {
    throw Error(ErrorCode::Syntax, fmt::format("'{}' is defined twice", name), in_.where(at));
  }
  return name;
}

bool Parser::buffer() {
  Buffer buffer;
  if (in_.accept("global")) {
    buffer.written = !in_.accept("const");
    if (!kernel_.buffers.empty() && kernel_.buffers.back().space != Space::Global)
      in_.fail("global buffers before all others");
  } else if (in_.accept("local")) {
    buffer.space = Space::Local;
  } else if (in_.accept("register")) {
    buffer.space = Space::Register;
  } else {
    return false;
  }
  const Token at = in_.peek();
  buffer.name = new_name();
  const auto type = parse_type(in_.peek().text);
  if (!type)
    in_.fail("an element type");
  buffer.type = *type;
  in_.next();
  in_.expect("[");
  buffer.elems = in_.expect_integer("a number of elements");
  in_.expect("]");
  require(buffer_rule(buffer), at);
  const std::string name = buffer.name;
  buffers_.emplace(name, to_.buffer(std::move(buffer)));
  return true;
}

StmtRef Parser::body() {
  const Nesting nesting(*this);
  std::vector<StmtRef> list;
  while (!in_.accept("}"))
    list.push_back(stmt());
  return to_.block(std::move(list));
}

StmtRef Parser::stmt() {
  if (in_.accept("let"))
    return let();
  if (in_.accept("for"))
    return loop(ForKind::Serial);
  if (in_.accept("unroll"))
    return loop(ForKind::Unroll);
  if (in_.accept("if"))
    return branch();
  if (in_.accept("barrier"))
    return barrier();
  if (in_.accept("prefetch"))
    return prefetch();
  if (in_.accept("async_copy"))
    return async_copy();
  if (in_.accept("async_commit"))
    return to_.async_commit();
  if (in_.accept("async_wait"))
    return to_.async_wait(static_cast<int>(ranged("groups under way", 0, kMaxPending)));
  if (in_.accept("mbarrier_init"))
    return mbarrier(MbarrierOp::Init);
  if (in_.accept("mbarrier_arrive"))
    return mbarrier(MbarrierOp::Arrive);
  if (in_.accept("mbarrier_expect"))
    return mbarrier(MbarrierOp::Expect);
  if (in_.accept("mbarrier_wait"))
    return mbarrier(MbarrierOp::Wait);
  if (in_.accept("tensor_copy"))
    return tensor_copy();
  if (in_.accept("wgmma_fence"))
    return to_.wgmma_sync({WgmmaStep::Fence});
  if (in_.accept("wgmma_commit"))
    return to_.wgmma_sync({WgmmaStep::Commit});
  if (in_.accept("wgmma_wait"))
    return to_.wgmma_sync(
        {WgmmaStep::Wait, static_cast<int>(ranged("groups under way", 0, kMaxWgmmaPending))});
  if (in_.accept("registers_less"))
    return register_limit(false);
  if (in_.accept("registers_more"))
    return register_limit(true);
  if (const std::string_view word = in_.peek().text; word.starts_with("wgmma."))
    return wgmma(word.substr(6));
  if (const std::string_view word = in_.peek().text; word.starts_with("ldmatrix."))
    return load_matrix(word.substr(9));
  if (const std::string_view word = in_.peek().text; word.starts_with("mma."))
    return mma(word.substr(4));
  return store();
}

StmtRef Parser::let() {
  const std::string name = new_name();
  in_.expect("=");
  const ExprRef value = expr();
  const VarId var = to_.variable(name, value->type);
  variables_.emplace(name, var);
  return to_.let(var, value);
}

StmtRef Parser::loop(ForKind kind) {
  const std::string name = new_name();
  in_.expect("in");
  const ExprRef begin = int_expr("a loop's begin");
  in_.expect("..");
  const ExprRef end = int_expr("a loop's end");
  const std::int64_t step = in_.accept("step") ? ranged("a loop's step", 1, kMaxBlocks) : 1;
  const VarId var = to_.variable(name, kInt);
  variables_.emplace(name, var);
  in_.expect("{");
  const StmtRef inner = body();
  return to_.loop(var, kind, begin, end, step, inner);
}

StmtRef Parser::branch() {
  const Token at = in_.peek();
  const ExprRef condition = expr();
  if (condition->type != Type{DType::Bool, 1}) {
    require(fmt::format("a condition needs bool; got {}", to_string(condition->type)), at);
  }
  in_.expect("{");
  const StmtRef then_body = body();
  if (!in_.accept("else"))
    return to_.branch(condition, then_body);
  in_.expect("{");
  return to_.branch(condition, then_body, body());
}

BufferId Parser::buffer_name() {
  const auto found = buffers_.find(std::string(in_.peek().text));
  if (in_.peek().kind != TokenKind::Name || found == buffers_.end())
    in_.fail("the name of a buffer");
  in_.next();
  return found->second;
}

StmtRef Parser::prefetch() {
  const RegisterRef at = element();
  return to_.prefetch(at.buffer, at.index);
}

StmtRef Parser::barrier() {
  const Token at = in_.peek();
  if (at.kind != TokenKind::Integer)
    return to_.barrier();
  Barrier barrier;
  barrier.id = static_cast<int>(ranged("a barrier's number", 1, kMaxBlockSize));
  barrier.items = in_.expect_integer("the work-items that reach the barrier");
  require(barrier_rule(barrier, kernel_.block_size), at);
  return to_.barrier(barrier);
}

RegisterRef Parser::element() {
  const BufferId buffer = buffer_name();
  in_.expect("[");
  const ExprRef index = int_expr("an index");
  in_.expect("]");
  return {buffer, index};
}

// After `ldmatrix.`: "x4" or "x4.trans".
StmtRef Parser::load_matrix(std::string_view name) {
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
StmtRef Parser::mma(std::string_view name) {
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

StmtRef Parser::async_copy() {
  const Token at = in_.peek();
  const BufferId to = buffer_name();
  const Access place = access(to);
  in_.expect("=");
  const RegisterRef from = element();
  const AsyncCopy copy{to, place.index, from.buffer, from.index, place.lanes, place.valid};
  if (place.stride != 1)
    require("async_copy copies neighbouring elements, without stride", at);
  require(async_copy_rule(kernel_, copy), at);
  return to_.async_copy(copy);
}

// "[1, -2, 3]".
std::vector<std::int64_t> Parser::numbers(std::string_view what) {
  std::vector<std::int64_t> list;
  in_.expect(what);
  in_.expect("[");
  do {
    list.push_back(in_.expect_integer("an integer"));
  } while (list.size() < kMaxNumbers && in_.accept(","));
  in_.expect("]");
  return list;
}

void Parser::tensor_map() {
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
    map.steps = numbers("steps");
  }
  in_.expect("swizzle");
  map.swizzle = static_cast<int>(ranged("a swizzle", 32, 128));
  require(tensor_map_rule(kernel_, map), at);
  const std::string name = map.name;
  maps_.emplace(name, to_.tensor_map(std::move(map)));
}

StmtRef Parser::mbarrier(MbarrierOp op) {
  const Token at = in_.peek();
  Mbarrier mbarrier{.op = op, .at = local_element()};
  if (op != MbarrierOp::Arrive)
    mbarrier.value = int_expr("the value of an mbarrier");
  require(mbarrier_rule(kernel_, mbarrier), at);
  return to_.mbarrier(mbarrier);
}

std::vector<ExprRef> Parser::int_list(std::string_view what) {
  std::vector<ExprRef> list;
  in_.expect("[");
  do {
    list.push_back(int_expr(what));
  } while (list.size() < kMaxNumbers && in_.accept(","));
  in_.expect("]");
  return list;
}

StmtRef Parser::tensor_copy() {
  const Token at = in_.peek();
  TensorCopy copy{.to = local_element()};
  in_.expect("=");
  const auto found = maps_.find(std::string(in_.peek().text));
  if (found == maps_.end())
    in_.fail("the name of a tensor map");
  in_.next();
  copy.map = found->second;
  copy.at = int_list("a coordinate");
  if (in_.accept("offsets"))
    copy.offsets = int_list("an offset");
  in_.expect("signals");
  copy.signals = local_element();
  require(tensor_copy_rule(kernel_, copy), at);
  return to_.tensor_copy(std::move(copy));
}

// After `wgmma.`: the name of a row of the table of core instructions.
StmtRef Parser::wgmma(std::string_view name) {
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
  wgmma.row_bytes = static_cast<int>(ranged("bytes of a row", 32, 128));
  if (in_.accept("a_panel"))
    wgmma.a_panel = ranged("a panel", 1, kMaxBlocks);
  if (in_.accept("b_panel"))
    wgmma.b_panel = ranged("a panel", 1, kMaxBlocks);
  if (in_.accept("when"))
    wgmma.accumulate = expr();
  require(wgmma_rule(kernel_, wgmma), at);
  return to_.wgmma(wgmma);
}

StmtRef Parser::register_limit(bool more) {
  const Token at = in_.peek();
  const RegisterLimit limit{more, static_cast<int>(ranged("registers", 24, 240))};
  require(register_limit_rule(limit), at);
  return to_.register_limit(limit);
}

ExprRef Parser::int_expr(std::string_view what) {
  const Token at = in_.peek();
  const ExprRef value = expr();
  if (value->type != kInt)
    require(fmt::format("{} needs i32; got {}", what, to_string(value->type)), at);
  return value;
}

Access Parser::access(BufferId buffer) {
  in_.expect("[");
  Access access{buffer, int_expr("an index")};
  if (kernel_[buffer].space == Space::Register)
    access.lanes = kernel_[buffer].type.lanes;
  if (in_.accept("..")) {
    access.lanes = static_cast<int>(ranged("the lanes of an access", 1, kMaxLanes));
    if (in_.accept(":"))
      access.stride = in_.expect_integer("a lane stride");
  }
  if (in_.accept("valid"))
    access.valid = int_expr("`valid`");
  if (access.valid != nullptr && in_.accept("fill"))
    access.fill = in_.expect_number("a fill value");
  in_.expect("]");
  return access;
}

StmtRef Parser::store() {
  const Token at = in_.peek();
  const BufferId buffer = buffer_name();
  const Access to = access(buffer);
  in_.expect("=");
  const ExprRef value = expr();
  if (value->type.lanes != to.lanes) {
    require(
        fmt::format("a store of {} lanes needs as many; got {}", to.lanes, to_string(value->type)),
        at);
  }
  const Type *valid = to.valid != nullptr ? &to.valid->type : nullptr;
  require(access_rule(kernel_[buffer], to.index->type, to.lanes, to.stride, valid), at);
  require(store_rule(kernel_[buffer], value->type), at);
  return to_.store(buffer, to.index, value, to.stride, to.valid);
}

ExprRef Parser::apply(ScalarOp op, std::vector<ExprRef> args, const Token &at) {
  std::vector<Type> types;
  for (const ExprRef arg : args)
    types.push_back(arg->type);
  require(scalar_rule(op, types), at);
  return to_.scalar(op, std::move(args));
}

// Operators of at least `level`, by precedence climbing. Every operator of a chain deepens the tree
// by one.
ExprRef Parser::expr(int level) {
  const Nesting nesting(*this);
  const int before = depth_;
  ExprRef left = primary();
  for (;;) {
    const Token at = in_.peek();
    const auto found = std::find_if(kInfix.begin(), kInfix.end(), [&](const Infix &infix) {
      return infix.level >= level && at.kind == TokenKind::Punct && row(infix.op).infix == at.text;
    });
    if (found == kInfix.end())
      break;
    in_.next();
    deeper();
    const ExprRef right = expr(found->level + 1);
    left = apply(found->op, {left, right}, at);
  }
  depth_ = before;
  return left;
}

ExprRef Parser::primary() {
  const TokenKind kind = in_.peek().kind;
  if (in_.accept("(")) {
    const ExprRef inner = expr();
    in_.expect(")");
    return inner;
  }
  if (kind == TokenKind::Integer || in_.is("-"))
    return to_.integer(in_.expect_integer("an integer"));
  if (in_.accept("block"))
    return to_.block();
  if (in_.accept("lane"))
    return to_.lane();
  if (kind != TokenKind::Name)
    in_.fail("an expression");
  return name();
}

ExprRef Parser::name() {
  const std::string text(in_.peek().text);
  if (const auto variable = variables_.find(text); variable != variables_.end()) {
    in_.next();
    return to_.var(variable->second);
  }
  if (buffers_.contains(text))
    return load(buffer_name());
  return call();
}

ExprRef Parser::load(BufferId buffer) {
  const Token at = in_.peek();
  const Access from = access(buffer);
  const Type *valid = from.valid != nullptr ? &from.valid->type : nullptr;
  require(access_rule(kernel_[buffer], from.index->type, from.lanes, from.stride, valid), at);
  return to_.load(buffer, from.index, from.lanes, from.stride, from.valid, from.fill);
}

ExprRef Parser::call() {
  const Token at = in_.peek();
  const auto type = parse_type(at.text);
  const auto op = parse_scalar_op(at.text);
  if (!type && !op && at.text != "fma" && at.text != "broadcast")
    in_.fail("a name that is defined");
  in_.next();
  in_.expect("(");
  if (type)
    return typed(*type);
  std::vector<ExprRef> args{expr()};
  if (at.text == "broadcast") {
    in_.expect(",");
    const int lanes = static_cast<int>(ranged("the lanes of a broadcast", 1, kMaxLanes));
    in_.expect(")");
    if (args[0]->type.lanes != 1)
      require("broadcast needs a scalar; got " + to_string(args[0]->type), at);
    return to_.broadcast(args[0], lanes);
  }
  while (in_.accept(","))
    args.push_back(expr());
  in_.expect(")");
  if (op)
    return apply(*op, std::move(args), at);
  if (args.size() != 3)
    require(fmt::format("fma needs 3 arguments; got {}", args.size()), at);
  require(fma_rule(args[0]->type, args[1]->type, args[2]->type), at);
  return to_.fma(args[0], args[1], args[2]);
}

// After TYPE '(': a literal is a constant, anything else is cast.
ExprRef Parser::typed(Type type) {
  const Token at = in_.peek();
  const bool is_number = at.kind == TokenKind::Integer || at.kind == TokenKind::Float;
  if (is_number || in_.is("-") || in_.is("inf") || in_.is("nan")) {
    const double value = in_.expect_number("a number");
    in_.expect(")");
    return to_.real(value, type);
  }
  const ExprRef value = expr();
  in_.expect(")");
  if (value->type.lanes != type.lanes) {
    require(fmt::format("a cast to {} needs as many lanes; got {}", to_string(type),
                        to_string(value->type)),
            at);
  }
  return to_.cast(value, type.elem);
}

} // namespace

Kernel parse_kernel(std::string_view text, const std::string &file) {
  return Parser(text, file).run();
}

} // namespace tilefuse::kernel
