// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "base/take_to.h"
#include "base/thread_pool.h"
#include "launch/text.h"
#include "model/compiled.h"
#include "program/storage/parse_storage.h"

namespace tilefuse::model {
namespace {

using launch::Launch;
using launch::Part;
using program::BufferId;

// What parts of it begin with, behind the end of a line.
constexpr std::string_view kProgram = "\nprogram ";
constexpr std::string_view kForms = "\nforms\n";
constexpr std::string_view kForm = "\nlaunch\n";
constexpr std::string_view kLaunches = "\nlaunches\n";
constexpr int kFormsOfThread = 8; // that are worth one

std::string to_text(const Part &part) {
  const poly::PlacedGroup &placed = part.placed;
  std::string text = fmt::format("part {} {} statement {}", quoted(part.chosen_by),
                                 quoted(placed.origin), placed.statement);
  text += placed.joins_tiles ? " joins buffers" : " buffers";
  for (const BufferId buffer : placed.buffers)
    text += fmt::format(" {}", to_int(buffer));
  text += '\n';
  for (const std::string &note : placed.notes)
    text += fmt::format("note {}\n", quoted(note));
  return text;
}

std::string to_text(const WaitingTensor &tensor) {
  return fmt::format("waiting {} {} bytes {} freed {} seconds {} {}\n", quoted(tensor.origin),
                     tensor.is_repeated ? "again" : "kept", tensor.bytes, tensor.freed,
                     tensor.seconds, quoted(tensor.reason));
}

std::string header_text(const Compiled &compiled) {
  std::string text = fmt::format("compiled layout {} conversions {}\n", quoted(compiled.layout),
                                 compiled.conversions);
  for (const std::string &warning : compiled.warnings)
    text += fmt::format("warning {}\n", quoted(warning));
  return text;
}

void parse_header(std::string_view text, Compiled &compiled, const std::string &file) {
  Scanner scanner(text, file);
  scanner.expect("compiled");
  scanner.expect("layout");
  compiled.layout = scanner.expect_string("a layout");
  scanner.expect("conversions");
  compiled.conversions = static_cast<int>(scanner.expect_integer("how many"));
  while (scanner.accept("warning"))
    compiled.warnings.push_back(scanner.expect_string("a warning"));
  if (!scanner.at_end())
    scanner.fail("a program");
}

// The program, and beside it the forms, whose text begins with the end of the line in front of the
// first one.
std::vector<Launch> parse_forms(std::string_view program, std::string_view text, Compiled &compiled,
                                const std::string &file) {
  std::vector<std::string_view> texts;
  take_to(text, kForm);
  while (!text.empty())
    texts.push_back(take_to(text, kForm));
  std::vector<Launch> forms(texts.size());
  const int threads = static_cast<int>(texts.size()) / kFormsOfThread + 1;
  ThreadPool pool(std::min(available_threads(), threads));
  pool.parallel_for(std::ssize(texts) + 1, [&](int, std::int64_t i) {
    if (i == 0)
      compiled.stored = program::parse_stored_program(program, file);
    else
      forms[at(i - 1)] = launch::parse_launch(texts[at(i - 1)], file);
  });
  return forms;
}

class LaunchParser {
public:
  LaunchParser(std::string_view text, const std::vector<Launch> &forms, Compiled &compiled,
               const std::string &file)
      : scanner_(text, file), forms_(forms), compiled_(compiled) {}

  void parse() {
    scanner_.expect("launches");
    while (scanner_.accept("run"))
      launch();
    while (scanner_.accept("waiting"))
      waiting();
    scanner_.expect("end");
    if (!scanner_.at_end())
      scanner_.fail("the end of the text");
    for (std::size_t l = 0; l < compiled_.launches.size(); ++l)
      if (const std::optional<std::size_t> before = compiled_.launches[l].before)
        if (*before <= l || *before > compiled_.launches.size())
          scanner_.fail(fmt::format("an end of launch {} behind it", l));
  }

private:
  std::size_t number(std::size_t end, const char *what) {
    const std::int64_t number = scanner_.expect_integer(what);
    if (number < 0 || at(number) >= end)
      scanner_.fail(fmt::format("{} below {} before this", what, end));
    return at(number);
  }

  void launch() {
    CompiledLaunch made{forms_[number(forms_.size(), "a form's number")]};
    if (scanner_.accept("before"))
      made.before = number(SIZE_MAX, "a launch's number");
    for (Part &part : made.launch.parts)
      this->part(part);
    compiled_.launches.push_back(std::move(made));
  }

  void part(Part &part) {
    poly::PlacedGroup &placed = part.placed;
    scanner_.expect("part");
    part.chosen_by = scanner_.expect_string("who chose the schedule");
    placed.origin = scanner_.expect_string("an origin");
    scanner_.expect("statement");
    placed.statement = static_cast<int>(scanner_.expect_integer("a statement's number"));
    placed.joins_tiles = scanner_.accept("joins");
    scanner_.expect("buffers");
    const Indexed<poly::SlotId, nest::Slot> slots = group_slots(placed.group);
    if (placed.buffers.size() != slots.size())
      scanner_.fail(fmt::format("a form with {} buffers before this", slots.size()));
    for (const poly::SlotId slot : slots.ids())
      placed.buffers[slot] = buffer(slots[slot], is_internal(placed.group, slot));
    while (scanner_.accept("note"))
      placed.notes.push_back(scanner_.expect_string("a note"));
  }

  // What is in tiles only needs none.
  BufferId buffer(const nest::Slot &slot, bool is_internal) {
    const std::int64_t id = scanner_.expect_integer("a buffer's number");
    const std::vector<program::Buffer> &buffers = compiled_.stored.buffers;
    const bool is_known = id >= 0 && id < std::ssize(buffers);
    if (!is_known && !(is_internal && id == to_int(program::kNoBuffer)))
      scanner_.fail(fmt::format("a buffer below {} before this", buffers.size()));
    if (!is_internal && bytes_of(buffers[at(id)]) < bytes_of(slot))
      scanner_.fail("a larger buffer before this");
    return BufferId{static_cast<int>(id)};
  }

  template <typename Place> static std::int64_t bytes_of(const Place &place) {
    return place.elems * size_bytes(place.type);
  }

  void waiting() {
    WaitingTensor tensor;
    tensor.origin = scanner_.expect_string("an origin");
    tensor.is_repeated = scanner_.accept("again");
    if (!tensor.is_repeated)
      scanner_.expect("kept");
    scanner_.expect("bytes");
    tensor.bytes = scanner_.expect_integer("bytes");
    scanner_.expect("freed");
    tensor.freed = scanner_.expect_integer("bytes");
    scanner_.expect("seconds");
    tensor.seconds = scanner_.expect_number("seconds");
    tensor.reason = scanner_.expect_string("a reason");
    compiled_.waiting.push_back(std::move(tensor));
  }

  Scanner scanner_;
  const std::vector<Launch> &forms_;
  Compiled &compiled_;
};

} // namespace

std::string to_text(const Compiled &compiled) {
  std::map<std::string, std::size_t> known;
  std::string forms = "forms\n", launches = "launches\n";
  for (const CompiledLaunch &each : compiled.launches) {
    const auto [form, is_new] = known.emplace(launch::to_text(unplaced(each.launch)), known.size());
    if (is_new)
      forms += form->first;
    launches += fmt::format("run {}", form->second);
    launches += each.before ? fmt::format(" before {}\n", *each.before) : std::string("\n");
    for (const Part &part : each.launch.parts)
      launches += to_text(part);
  }
  for (const WaitingTensor &tensor : compiled.waiting)
    launches += to_text(tensor);
  return header_text(compiled) + program::to_text(compiled.stored) + forms + launches + "end\n";
}

Compiled parse_compiled(std::string_view text, const std::string &file) {
  Compiled compiled;
  parse_header(take_to(text, kProgram), compiled, file);
  const std::string_view program = take_to(text, kForms);
  const std::vector<Launch> forms = parse_forms(program, take_to(text, kLaunches), compiled, file);
  LaunchParser(text, forms, compiled, file).parse();
  return compiled;
}

} // namespace tilefuse::model
