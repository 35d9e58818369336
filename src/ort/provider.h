// SPDX-License-Identifier: Apache-2.0
// The execution provider of one session: says which nodes it takes, compiles them, and tells the
// session's log once what was taken and what was left and why.
#pragma once

#include <string>

#include "ort/choice.h"
#include "ort/graph.h"
#include "ort/ort_api.h"
#include "ort/settings.h"
#include "tilefuse/tilefuse.hpp"

namespace tilefuse::ort {

class Provider : public c::Ep {
public:
  // The logger is the session's and outlives this.
  Provider(Settings settings, const c::Logger *logger);

private:
  void offer(const c::Graph *graph, c::GraphSupport *support);
  void report(const Graph &graph, const Choice &choice);
  void log(int level, const std::string &text) const;

  Settings settings_;
  const c::Logger *logger_;
  Device device_;
  bool is_reported_ = false;
};

} // namespace tilefuse::ort
