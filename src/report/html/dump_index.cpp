// SPDX-License-Identifier: Apache-2.0
#include "report/html/dump_index.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "report/html/shell.h"

namespace tilefuse::report::html {
namespace {

// Numbers in names count as such: "000.9.…" stands before "000.10.…".
bool comes_before(const std::string &a, const std::string &b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j])
        return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    long long left = 0, right = 0;
    i = static_cast<std::size_t>(std::from_chars(&a[i], a.data() + a.size(), left).ptr - a.data());
    j = static_cast<std::size_t>(std::from_chars(&b[j], b.data() + b.size(), right).ptr - b.data());
    if (left != right)
      return left < right;
  }
  return a.size() - i < b.size() - j;
}

// "012" of a launch's file, else nothing.
std::string launch_of(const std::string &file) {
  const std::size_t end = file.find_first_not_of("0123456789");
  return end != file.npos && end >= 3 && file[end] == '.' ? file.substr(0, end) : "";
}

// A file of the same folder as the address of a link: bytes that mean something in one as numbers,
// and no scheme where the name has a colon.
std::string address(std::string_view file) {
  std::string text = "./";
  for (const char c : file)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_')
      text += c;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return text;
}

void links(Markup &out, const std::vector<std::string> &files, std::size_t skipped) {
  out.open("p");
  for (const std::string &file : files)
    out.element("a", {{"href", address(file)}}, file.substr(skipped)).text("  ");
  out.close();
}

} // namespace

std::string dump_index(const std::string &model, std::span<const std::string> origins,
                       std::vector<std::string> files) {
  std::sort(files.begin(), files.end(), comes_before);
  std::map<std::string, std::vector<std::string>> by_launch;
  for (const std::string &file : files)
    by_launch[launch_of(file)].push_back(file);
  Markup out;
  open_page(out, "levels of " + model);
  out.element("h1", {}, "levels of " + model);
  open_section(out, "program", "The program as a whole", "");
  links(out, by_launch[""], 0);
  out.close();
  open_section(out, "launches", "Each launch",
               "Group, schedule, cost, then the kernel after each pass.");
  for (std::size_t l = 0; l < origins.size(); ++l) {
    const std::string stem = fmt::format("{:03}", l);
    out.element("h3", {}, fmt::format("{}  {}", stem, origins[l]));
    links(out, by_launch[stem], stem.size() + 1);
  }
  out.close();
  return close_page(out);
}

} // namespace tilefuse::report::html
