// SPDX-License-Identifier: Apache-2.0
#include "report/html/shell.h"

#include "base/embedded.h"
#include "base/error.h"

namespace tilefuse::report::html {
namespace {

std::string_view part_of_program(std::string_view path) {
  for (const EmbeddedFile &file : embedded_files())
    if (file.path == path)
      return file.text;
  TILEFUSE_CHECK(false, "a page's style or script is not part of the program");
  return {};
}

} // namespace

void open_page(Markup &out, std::string_view title) {
  out.open("html", {{"lang", "en"}}).open("head");
  out.leaf("meta", {{"charset", "utf-8"}});
  out.leaf("meta", {{"http-equiv", "Content-Security-Policy"},
                    {"content", "default-src 'none'; style-src 'unsafe-inline'; script-src "
                                "'unsafe-inline'; base-uri 'none'; form-action 'none'"}});
  out.leaf("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  out.element("title", {}, title);
  out.embed("style", part_of_program("src/report/html/page.css"));
  out.close().open("body").open("main");
}

std::string close_page(Markup &out) {
  out.close().embed("script", part_of_program("src/report/html/page.js")).close().close();
  return "<!DOCTYPE html>\n" + out.take() + "\n";
}

void open_section(Markup &out, std::string_view id, std::string_view heading,
                  std::string_view says) {
  out.open("section", {{"id", std::string(id)}}).element("h2", {}, heading);
  if (!says.empty())
    out.element("p", {{"class", "says"}}, says);
}

} // namespace tilefuse::report::html
