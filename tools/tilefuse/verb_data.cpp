// SPDX-License-Identifier: Apache-2.0
// `tilefuse data look`: what pictures there are, and how fast this machine reads them. `tilefuse data pack`:
// decodes them once for all.
#include <algorithm>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "data/loader.h"
#include "data/open.h"
#include "data/pack.h"
#include "output.h"
#include "progress.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

constexpr double kLookSeconds = 2;

struct DataArguments {
  std::string action;
  std::string pictures;
  std::string name; // of what is packed
  int side = data::OpenOptions().side;
  int threads = 0;
  OutputOptions out;
};

// Pictures a second.
double read_rate(const data::Source &source, int threads) {
  const std::int64_t batch = std::min<std::int64_t>(64, source.count());
  const Stopwatch watch;
  data::Loader loader(source, {.batch = batch, .threads = threads});
  std::int64_t count = 0;
  while (loader.more() && watch.seconds() < kLookSeconds)
    count += loader.next().count;
  return static_cast<double>(count) / watch.seconds();
}

void look(const data::Source &source, const DataArguments &args) {
  const auto [height, width, channels] = source.form();
  const double rate = read_rate(source, args.threads);
  report::Document document;
  document.line("pictures",
                fmt::format("{} of {}x{}x{}, {} classes", source.count(), height, width, channels,
                            source.classes()),
                {{"count", source.count()},
                 {"height", std::int64_t{height}},
                 {"width", std::int64_t{width}},
                 {"channels", std::int64_t{channels}},
                 {"classes", std::int64_t{source.classes()}}});
  document.line("read",
                fmt::format("{:.0f} pictures/s{}", rate,
                            source.decodes() ? ", decoding them; 'data pack' does so once" : ""),
                {{"per_second", rate}});
  print(document, args.out);
}

void pack(const data::Source &source, const DataArguments &args) {
  if (args.name.empty())
    throw Error(ErrorCode::Syntax, "data pack: -o says the name of the files");
  {
    Progress progress("packing");
    data::pack(source, args.name, args.threads, [&](std::int64_t done, std::int64_t total) {
      progress.show(fmt::format("{}/{}", done, total));
    });
  }
  const std::string packed = data::packed_name(args.name);
  report::Document document;
  document.line("packed", fmt::format("{} pictures: {}", source.count(), packed),
                {{"count", source.count()}, {"data", packed}});
  print(document, args.out);
}

} // namespace

void add_data(CLI::App &app) {
  auto args = std::make_shared<DataArguments>();
  CLI::App *verb = app.add_subcommand(
      "data", "Look at pictures to train on, or pack them so that they are decoded once");
  verb->footer("Examples:\n"
               "  tilefuse data look tar:train-*.tar\n"
               "  tilefuse data pack folder:train --side 256 -o train\n"
               "  tilefuse train model.onnx --data npy:train.images.npy,train.labels.npy -o run");
  verb->add_option("action", args->action, "look or pack")
      ->required()
      ->check(CLI::IsMember({"look", "pack"}));
  verb->add_option("pictures", args->pictures, "folder:DIR, list:FILE, tar:SHARDS, cifar:FILE, …")
      ->required()
      ->type_name("KIND:PATH");
  verb->add_option("-o,--output", args->name, "pack: writes NAME.images.npy and NAME.labels.npy")
      ->type_name("NAME");
  verb->add_option("--side", args->side, "Pixels: size that decoded pictures are made")
      ->check(CLI::Range(1, 1 << 13));
  verb->add_option("--threads", args->threads, "That read pictures; 0: one for each core")
      ->check(CLI::Range(0, 256));
  add_output_options(*verb, args->out, false);
  verb->callback([args] {
    const auto source = data::open_source(args->pictures, {.side = args->side});
    (args->action == "look" ? look : pack)(*source, *args);
  });
}

} // namespace tilefuse::tool
