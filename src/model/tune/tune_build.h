// SPDX-License-Identifier: Apache-2.0
// What the kernels of one tuning run share, and how their candidates are built.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "emit/emitter.h"
#include "model/tune/tune_options.h"
#include "poly/group.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/record_store.h"
#include "schedule/schedule.h"

namespace tilefuse::model {

// Borrowed.
struct Workshop {
  runtime::Device &device;
  runtime::KernelCache &cache;
  runtime::RecordStore &records;
  const emit::Emitter &emitter;
  ThreadPool &pool;
  const TuneOptions &options;
};

// Built packages by schedule; nothing where code could not be made.
std::vector<std::optional<Package>>
build_schedules(const poly::Group &group, const std::vector<schedule::Schedule> &schedules,
                const Workshop &shop);

} // namespace tilefuse::model
