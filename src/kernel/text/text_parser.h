// SPDX-License-Identifier: Apache-2.0
// The parser of a kernel's text, shared by the files that define it: text_parser.cpp (the kernel,
// its buffers and plain statements), text_parser_expr.cpp (expressions) and
// text_parser_intrinsic.cpp (tensor maps and intrinsics).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/scanner.h"
#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "kernel/nodes.h"

namespace tilefuse::kernel {

constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 40;

// "f32", "f16x8"; nothing for another text.
std::optional<Type> parse_type(std::string_view name);

// An access as written, before it is known to be read or written.
struct Access {
  BufferId buffer{};
  ExprRef index = nullptr;
  int lanes = 1;
  std::int64_t stride = 1;
  ExprRef valid = nullptr;
  double fill = 0;
  ExprRef rank = nullptr;
};

class TextParser {
public:
  TextParser(std::string_view text, const std::string &file) : in_(text, file), to_(kernel_) {}
  Kernel run();

private:
  // Counts one level of nesting while it lives.
  struct Nesting {
    explicit Nesting(TextParser &parser) : parser(parser) { parser.deeper(); }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;
    TextParser &parser;
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
  void tensor_map();
  std::vector<std::int64_t> numbers(std::string_view what);
  MapId map_name();
  std::vector<ExprRef> int_list(std::string_view what);
  StmtRef intrinsic(Intrinsic node); // a form whose word comes next
  bool has(const Operand &operand);
  void read(const Operand &operand, const ElementOperand &to);
  void read(const Operand &operand, const RunOperand &to);
  void read(const Operand &operand, const ExprOperand &to);
  void read(const Operand &operand, const ListOperand &to);
  void read(const Operand &operand, const NumberOperand &to);
  void read(const Operand &, MapId *to) { *to = map_name(); }
  void read(const Operand &, bool *to) { *to = true; }
  RegisterRef element();
  StmtRef store();
  std::string new_name();
  BufferId buffer_name();
  Access access(BufferId buffer, bool may_be_remote = false);

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

} // namespace tilefuse::kernel
