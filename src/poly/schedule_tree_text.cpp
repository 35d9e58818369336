// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/scanner.h"
#include "base/words.h"
#include "poly/schedule_tree.h"

namespace tilefuse::poly {
namespace {

constexpr auto kWords = words<Kind>({{Kind::Domain, "domain"},
                                     {Kind::Band, "band"},
                                     {Kind::Sequence, "sequence"},
                                     {Kind::Filter, "filter"},
                                     {Kind::Extension, "extension"},
                                     {Kind::Mark, "mark"}});

void print(const ScheduleTree &tree, std::size_t depth, std::string &out) {
  out += fmt::format("{:{}}{}", "", 2 * depth, kWords[tree.kind]);
  if (tree.kind != Kind::Sequence)
    out += " " + quoted(tree.text);
  if (tree.permutable)
    out += " permutable";
  if (!tree.coincident.empty())
    out += " coincident";
  for (const bool is_parallel : tree.coincident)
    out += is_parallel ? " 1" : " 0";
  if (tree.children.empty()) {
    out += "\n";
    return;
  }
  out += " {\n";
  for (const ScheduleTree &child : tree.children)
    print(child, depth + 1, out);
  out += fmt::format("{:{}}}}\n", "", 2 * depth);
}

ScheduleTree parse(Scanner &scanner) {
  ScheduleTree tree;
  const std::string name(scanner.peek().text);
  bool is_known = false;
  for (const auto &[kind, text] : kWords.rows)
    if (text == name) {
      tree.kind = kind;
      is_known = true;
    }
  if (!is_known)
    scanner.fail("domain, band, sequence, filter, extension or mark");
  scanner.next();
  if (tree.kind != Kind::Sequence)
    tree.text = scanner.expect_string("its text");
  tree.permutable = scanner.accept("permutable");
  if (scanner.accept("coincident"))
    while (scanner.peek().kind == TokenKind::Integer)
      tree.coincident.push_back(scanner.expect_integer("0 or 1") != 0);
  if (scanner.accept("{"))
    while (!scanner.accept("}"))
      tree.children.push_back(parse(scanner));
  return tree;
}

} // namespace

std::string to_text(const ScheduleTree &tree) {
  std::string out;
  print(tree, 0, out);
  return out;
}

ScheduleTree parse_schedule_tree(std::string_view text, const std::string &file) {
  Scanner scanner(text, file);
  ScheduleTree tree = parse(scanner);
  if (!scanner.at_end())
    scanner.fail("the end of the tree");
  verify(tree);
  return tree;
}

} // namespace tilefuse::poly
