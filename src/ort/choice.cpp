// SPDX-License-Identifier: Apache-2.0
#include "ort/choice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ort/calls.h"
#include "ort/element_types.h"
#include "ort/onnx_model.h"
#include "ort/partition.h"
#include "tilefuse/tilefuse.hpp"

namespace tilefuse::ort {
namespace {

constexpr std::string_view kHeavy[] = {
    "Conv",        "ConvTranspose", "Gemm",        "MatMul",        "MaxPool", "AveragePool",
    "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul", "Einsum",  "DeformConv"};

// Open sizes other than the first are tried as one of these, since not every size suits a model.
constexpr std::int64_t kTrialSizes[] = {256, 224, 64, 32};

struct Gap {
  std::string node; // "" where it is of the whole group
  std::string why;
};

class Chooser {
public:
  explicit Chooser(const Graph &graph) : graph_(graph), why_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      position_[graph.nodes[n].name] = n;
  }

  Choice choose(std::size_t least_nodes) {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      why_[n] = obstacle(graph_.nodes[n]);
    std::vector<Group> found;
    do {
      leave_data_sized();
      found = groups(graph_, taken());
    } while (!are_accepted(found));
    Choice choice;
    for (Group &group : found)
      if (const std::string small = too_small(group, least_nodes); small.empty())
        choice.groups.push_back(std::move(group));
      else
        leave(group, small);
    choice.why = why_;
    return choice;
  }

private:
  std::vector<bool> taken() const {
    std::vector<bool> taken;
    for (const std::string &why : why_)
      taken.push_back(why.empty());
    return taken;
  }

  void leave(const Group &group, const std::string &why) {
    for (const std::size_t n : group)
      why_[n] = why;
  }

  // Why a node cannot be given to the library at all.
  std::string obstacle(const Node &node) const {
    if (node.has_graphs)
      return "control flow";
    for (const auto *names : {&node.inputs, &node.outputs})
      for (const std::string &name : *names)
        if (!name.empty() && !to_dl(graph_.tensors.at(name).type))
          return graph_.tensors.at(name).type == 0
                     ? "a value that is no tensor"
                     : "a tensor of element type " + std::to_string(graph_.tensors.at(name).type) +
                           " of ONNX";
    return "";
  }

  void leave_data_sized() {
    std::vector<bool> left = taken();
    left.flip();
    const std::vector<std::string> found = data_sized(graph_, left);
    for (std::size_t n = 0; n < found.size(); ++n)
      if (why_[n].empty())
        why_[n] = found[n];
  }

  // False where one lost nodes and all are to be made anew.
  bool are_accepted(const std::vector<Group> &found) {
    bool are_accepted = true;
    for (const Group &group : found)
      if (!accepted_.contains(group) && !is_accepted(group))
        are_accepted = false;
    return are_accepted;
  }

  bool is_accepted(const Group &group) {
    const std::vector<Gap> gaps = gaps_of(group);
    for (const Gap &gap : gaps) {
      const auto node = position_.find(gap.node);
      if (node == position_.end())
        leave(group, gap.why);
      else
        why_[node->second] = gap.why;
    }
    if (gaps.empty())
      accepted_.insert(group);
    return gaps.empty();
  }

  // Of the nodes that read what has no known rank.
  std::vector<Gap> unranked(const Group &group, const Border &edge) const {
    std::vector<Gap> gaps;
    for (const std::string &input : edge.inputs)
      for (const std::size_t n : group) {
        const std::vector<std::string> &reads = graph_.nodes[n].inputs;
        if (!graph_.tensors.at(input).shape &&
            std::find(reads.begin(), reads.end(), input) != reads.end())
          gaps.push_back({graph_.nodes[n].name, "the rank of what it reads is not known"});
      }
    return gaps;
  }

  // The fewest that any of the trial sizes shows.
  std::vector<Gap> gaps_of(const Group &group) const {
    const Border edge = border(graph_, group);
    if (edge.outputs.empty())
      return {{"", "nothing reads its results"}};
    std::vector<Gap> fewest = unranked(group, edge);
    if (!fewest.empty())
      return fewest;
    bool is_first = true;
    for (const std::int64_t size : kTrialSizes) {
      bool is_tried = false;
      const auto sizes = [&](const std::string &name) {
        Shape shape = known_sizes(graph_, name);
        for (std::size_t d = 0; d < shape.size(); ++d)
          if (shape[d] < 0) {
            shape[d] = d == 0 ? 1 : size;
            is_tried = true;
          }
        return shape;
      };
      std::vector<Gap> gaps = ask(to_onnx(graph_, group, edge, sizes));
      if (is_first || gaps.size() < fewest.size())
        fewest = std::move(gaps);
      is_first = false;
      if (fewest.empty() || !is_tried)
        break;
    }
    return fewest;
  }

  static std::vector<Gap> ask(const std::string &bytes) {
    std::vector<Gap> gaps;
    try {
      const Model model = Model::parse(bytes.data(), bytes.size());
      for (const auto &entry : nlohmann::json::parse(model.gaps()))
        gaps.push_back({entry.at("node"), entry.at("why")});
    } catch (const Error &error) {
      gaps.push_back({"", error.message()});
    }
    return gaps;
  }

  std::string too_small(const Group &group, std::size_t least_nodes) const {
    for (const std::size_t n : group)
      if (std::find(std::begin(kHeavy), std::end(kHeavy), graph_.nodes[n].type) != std::end(kHeavy))
        return "";
    bool is_floating = false;
    for (const std::size_t n : group)
      for (const std::string &name : graph_.nodes[n].outputs)
        is_floating = is_floating || (!name.empty() && is_float(graph_.tensors.at(name).type));
    if (!is_floating)
      return "integers alone, too little to pay";
    return group.size() < least_nodes ? "too few nodes in one place to pay" : "";
  }

  const Graph &graph_;
  std::map<std::string, std::size_t> position_;
  std::vector<std::string> why_;
  std::set<Group> accepted_;
};

// "Conv 20, Relu 18", the most frequent first.
std::string counts(const Graph &graph, const std::vector<Group> &groups) {
  std::map<std::string, int> by_type;
  for (const Group &group : groups)
    for (const std::size_t n : group)
      ++by_type[graph.nodes[n].type];
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto &[type, count] : by_type)
    sorted.emplace_back(-count, type);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const auto &[count, type] : sorted)
    text += (text.empty() ? "" : ", ") + type + " " + std::to_string(-count);
  return text;
}

constexpr std::size_t kMostNames = 8; // of nodes with one reason

std::string counted(std::size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

} // namespace

Choice choose(const Graph &graph, std::size_t least_nodes) {
  return Chooser(graph).choose(least_nodes);
}

std::string summary(const Graph &graph, const Choice &choice) {
  std::size_t taken = 0;
  for (const Group &group : choice.groups)
    taken += group.size();
  if (taken == 0)
    return "none of " + counted(graph.nodes.size(), "node");
  return std::to_string(taken) + " of " + counted(graph.nodes.size(), "node") + " in " +
         counted(choice.groups.size(), "group") + ": " + counts(graph, choice.groups);
}

std::string names(const Graph &graph, const Group &group) {
  std::string text;
  for (const std::size_t n : group)
    text += (text.empty() ? "" : ", ") + graph.nodes[n].name;
  return text;
}

std::string left(const Graph &graph, const Choice &choice) {
  std::map<std::string, Group> by_reason;
  std::size_t count = 0;
  for (std::size_t n = 0; n < choice.why.size(); ++n)
    if (!choice.why[n].empty()) {
      by_reason[choice.why[n]].push_back(n);
      ++count;
    }
  if (count == 0)
    return "";
  std::string text = counted(count, "node") + ": ";
  std::string separator;
  for (const auto &[why, nodes] : by_reason) {
    const Group shown(nodes.begin(),
                      nodes.begin() + std::ptrdiff_t(std::min(nodes.size(), kMostNames)));
    text += separator + why + ": " + std::to_string(nodes.size()) + " (" + names(graph, shown) +
            (shown.size() < nodes.size() ? ", …)" : ")");
    separator = "; ";
  }
  return text;
}

} // namespace tilefuse::ort
