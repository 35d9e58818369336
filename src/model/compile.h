// SPDX-License-Identifier: Apache-2.0
// Program → kernels for one device: prepare (passes.h), place in memory, group, schedule, or all of
// it as an earlier start kept it; then lower, emit and build what the cache does not have. Equal (group, schedule) pairs share a
// package.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emit/emitter.h"
#include "emit/make_emitter.h"
#include "model/compiled.h"
#include "model/session_options.h"
#include "poly/group.h"
#include "program/storage/storage.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "schedule/schedule.h"

namespace tilefuse::model {

// The code generator for a target. Error{Device} when this build or bundle has none for it.
std::unique_ptr<emit::Emitter> make_emitter(const Target &target);

// The algorithm that schedules are to follow: nothing where it is a rewriting.
std::string schedule_algorithm(const std::string &algorithm);

// Everything but packages: needs of the device its target, and its name where there are records.
Compiled choose_kernels(const program::Program &program, const runtime::Device &device,
                        search::KeptChoices &kept, const SessionOptions &options);

// The same as the cache has it whole (plan/kept_plan.h), or chosen and kept there. Where passes are
// watched they run.
Compiled planned(const program::Program &program, const runtime::Device &device,
                 runtime::KernelCache &cache, const SessionOptions &options);

// Error{Device} when a kernel is missing from the cache and this build or bundle cannot generate
// code for the device.
Compiled compile(const program::Program &program, runtime::Device &device,
                 runtime::KernelCache &cache, const SessionOptions &options);

// What a package is filed under: a hash of group, schedule, target, driver and code generator
// version.
std::string cache_key(const poly::Group &group, const schedule::Schedule &schedule,
                      const runtime::Device &device);

} // namespace tilefuse::model
