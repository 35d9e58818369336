// SPDX-License-Identifier: Apache-2.0
// The kernels of a run as a table, and what their times say to do.
//
//    #     us  share  GFLOP/s  GB/s  roofline  nodes
//    3   38.2  62.0%    171.2   8.1       84%  Conv conv1 + Relu relu1
//    …
//        61.6   100%     98.7  10.4            all 12 kernels
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/session_stats.h"
#include "report/table.h"

namespace tilefuse::report {

enum class KernelOrder { Launch, Time };

// `kernels` in launch order. Past `most` rows (0: none) the rest is
// one line below.
Table kernel_table(std::span<const model::KernelReport> kernels,
                   KernelOrder order = KernelOrder::Launch, std::size_t most = 0);

// One sentence each, the most useful first: which kernels take most of the time, and those that
// take a good part of it far below what the device allows.
std::vector<std::string> advice(std::span<const model::KernelReport> kernels);

} // namespace tilefuse::report
