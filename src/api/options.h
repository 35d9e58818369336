// SPDX-License-Identifier: Apache-2.0
// What a user may ask for: of an engine (device, caches) and of how a model is compiled. Each has a
// name and a text form, which the C interface and Python take; the command line sets the members.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/pass_context.h"
#include "model/calibrate.h"
#include "model/precision.h"
#include "model/session_options.h"
#include "onnx/options.h"
#include "runtime/store/record_store.h"
#include "search/network/fusion.h"
#include "tile/attributes.h"

namespace tilefuse::api {

struct EngineOptions {
  int threads = 0;   // of the cpu; 0: one per core
  std::string cache; // a file; empty: default_cache_path
  bool no_cache = false;
  std::string records; // a file; empty: records.sqlite beside the cache
  bool no_records = false;
};

struct Options {
  std::string algorithm; // forced where it fits
  std::string precision; // empty: as the model says
  std::string gradient;  // empty: the model itself (model/differentiate.h)
  std::string split = "auto";
  std::string layout = "auto";
  search::FusionSettings fusion;
  model::Clip clip;               // of ranges that 8-bit integers stand for
  std::set<std::string> keep_f32; // products that int8 leaves in f32
  std::int64_t kept = 8;          // shapes that stay compiled, of a model whose sizes vary
  onnx_import::Options sizes;
  tile::Attributes attributes;        // of a Tile function
  std::map<std::string, DType> types; // of its inputs, by name; else of what they are bound to
  std::string dump;                   // a folder, or empty
  std::shared_ptr<PassContext> passes = std::make_shared<PassContext>();
};

// A name that set() takes, here or in training.h. One that ends in a dot stands for all that begin so.
struct OptionRow {
  std::string_view key;
  std::string_view of; // "device", "compile" or "training"
  std::string_view help;
};
std::span<const OptionRow> option_rows();

// Error{Unsupported} for a key that is none of them lists them; Error{Syntax} for a value that it
// does not take.
void set(EngineOptions &options, const std::string &key, const std::string &value);
void set(Options &options, const std::string &key, const std::string &value);

// As a session takes them, with what applying the precision gave.
model::SessionOptions session_options(const Options &options,
                                      const model::AppliedPrecision &applied,
                                      runtime::RecordStore *records,
                                      std::function<void(const std::string &)> warn);

} // namespace tilefuse::api
