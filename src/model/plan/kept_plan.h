// SPDX-License-Identifier: Apache-2.0
// A plan kept whole in the kernel cache: a second start of the same program reads it, and neither
// prepares the program nor searches, prices or places anything. It is the text of what was compiled
// (compiled.h), filed under the hash of all that it depends on: the program with the contents of its
// constants, target and alignment, every option of choosing, tuning records where they are used,
// and the versions of the code that chooses and generates. Constants that the program does not have
// itself lie beside it, each under the hash of its contents.
//
// A text that does not read back, or whose constants are gone, is no plan: one is made anew in its
// place.
#pragma once

#include <optional>
#include <string>

#include "model/compiled.h"
#include "model/session_options.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::model {

// What a plan is filed under.
std::string plan_key(const program::Program &program, const runtime::Device &device,
                     const SessionOptions &options);

// The plan under a key, with the data of all constants; nothing where there is none that reads back.
std::optional<Compiled> find_plan(runtime::KernelCache &cache, const std::string &key,
                                  const program::Program &program);

// Files a plan of the program, but for one with more constants of its own than a cache should hold.
void keep_plan(runtime::KernelCache &cache, const std::string &key, const program::Program &program,
               const Compiled &compiled);

} // namespace tilefuse::model
