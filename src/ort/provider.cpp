// SPDX-License-Identifier: Apache-2.0
#include "ort/provider.h"

#include <memory>
#include <utility>
#include <vector>

#include "ort/calls.h"
#include "ort/kernel.h"

namespace tilefuse::ort {
namespace {

void tell(const c::Logger *logger, int level, const std::string &text) {
  // A log that fails is no reason to stop.
  if (c::Status *status =
          api().Logger_LogMessage(logger, level, text.c_str(), "tilefuse", 0, "ort"))
    api().ReleaseStatus(status);
}

int level_of(tf_log_level level) { return level == TF_LOG_WARNING ? c::kLogWarning : c::kLogInfo; }

} // namespace

Provider::Provider(Settings settings, const c::Logger *logger)
    : c::Ep{}, settings_(std::move(settings)), logger_(logger),
      device_(settings_.device, settings_.device_options,
              {[logger](tf_log_level level, const std::string &text) {
                tell(logger, level_of(level), text);
              }}) {
  ort_version_supported = c::kApiVersion;
  GetName = [](const c::Ep *) { return kProvider; };
  GetCapability = [](c::Ep *self, const c::Graph *graph, c::GraphSupport *support) {
    return guarded([&] { static_cast<Provider *>(self)->offer(graph, support); });
  };
  Compile = [](c::Ep *self, const c::Graph **graphs, const c::Node **fused, std::size_t count,
               c::NodeComputeInfo **made, c::Node **) {
    return guarded([&] {
      const auto *provider = static_cast<Provider *>(self);
      std::vector<std::unique_ptr<Kernel>> kernels;
      for (std::size_t i = 0; i < count; ++i)
        kernels.push_back(std::make_unique<Kernel>(read_graph(graphs[i]), fused[i],
                                                   provider->device_,
                                                   provider->settings_.compile_options));
      for (std::size_t i = 0; i < count; ++i)
        made[i] = kernels[i].release();
    });
  };
  ReleaseNodeComputeInfos = [](c::Ep *, c::NodeComputeInfo **infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      delete static_cast<Kernel *>(infos[i]);
  };
}

// What stands inside control flow is left.
void Provider::offer(const c::Graph *from, c::GraphSupport *support) {
  const Graph graph = read_graph(from);
  if (is_nested(from, graph))
    return;
  const Choice choice = choose(graph, settings_.least_nodes);
  const c::NodeFusionOptions fusion{c::kApiVersion, true};
  for (const Group &group : choice.groups) {
    std::vector<const c::Node *> nodes;
    for (const std::size_t n : group)
      nodes.push_back(graph.nodes[n].handle);
    check(ep_api().EpGraphSupportInfo_AddNodesToFuse(support, nodes.data(), nodes.size(), &fusion));
  }
  report(graph, choice);
}

void Provider::report(const Graph &graph, const Choice &choice) const {
  log(c::kLogInfo, "tilefuse takes " + summary(graph, choice));
  for (const Group &group : choice.groups)
    log(c::kLogInfo, "tilefuse takes as one: " + names(graph, group));
  if (const std::string text = left(graph, choice); !text.empty())
    log(c::kLogWarning, "tilefuse leaves to onnxruntime " + text);
}

void Provider::log(int level, const std::string &text) const { tell(logger_, level, text); }

} // namespace tilefuse::ort
