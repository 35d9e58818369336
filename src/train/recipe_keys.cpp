// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_keys.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace tilefuse::train {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::max();
constexpr KeyRange kPositive{.low = std::numeric_limits<double>::min()};
constexpr KeyRange kBelowOne{.low = 0, .high = 1, .below_high = true};
constexpr KeyRange kAnything{.low = -kNoLimit};
constexpr KeyRange kFromOne{.low = 1};

template <auto member> KeyValue at(Recipe &recipe) { return &(recipe.*member); }
template <auto section, auto member> KeyValue at(Recipe &recipe) {
  return &(recipe.*section.*member);
}

template <auto member> constexpr auto kData = at<&Recipe::data, member>;
template <auto member> constexpr auto kAugment = at<&Recipe::augment, member>;
template <auto member> constexpr auto kSteps = at<&Recipe::steps, member>;
template <auto member> constexpr auto kParameters = at<&Recipe::parameters, member>;
template <auto member> constexpr auto kOptimizer = at<&Recipe::optimizer, member>;
template <auto member> constexpr auto kRate = at<&Recipe::rate, member>;
template <auto member> constexpr auto kLoss = at<&Recipe::loss, member>;
template <auto member> constexpr auto kKeep = at<&Recipe::keep, member>;

const auto kKeys = std::to_array<RecipeKey>({
    {"model", at<&Recipe::model>, {}, "", true},
    {"seed", at<&Recipe::seed>},
    {"precision", at<&Recipe::precision>, {}, "f32|tf32|f16|bf16"},

    {"data.train", kData<&Recipe::Data::train>, {}, "", true},
    {"data.test", kData<&Recipe::Data::test>, {}, "", true},
    {"data.mean", kData<&Recipe::Data::mean>, kAnything},
    {"data.std", kData<&Recipe::Data::std>, kPositive},
    {"data.side", kData<&Recipe::Data::side>, {0, 1 << 16}},
    {"data.skip_damaged", kData<&Recipe::Data::skip_damaged>},
    {"data.threads", kData<&Recipe::Data::threads>, {1, 1024}},

    {"augment.pad_crop", kAugment<&Recipe::Augment::pad_crop>, {0, 1 << 16}},
    {"augment.flip", kAugment<&Recipe::Augment::flip>},
    {"augment.mixup", kAugment<&Recipe::Augment::mixup>},
    {"augment.cutmix", kAugment<&Recipe::Augment::cutmix>},

    {"steps.batch", kSteps<&Recipe::Steps::batch>, kFromOne},
    {"steps.lanes", kSteps<&Recipe::Steps::lanes>, {1, 1 << 16}},
    {"steps.exchange", kSteps<&Recipe::Steps::exchange>, {}, "tree|library"},
    {"steps.parts", kSteps<&Recipe::Steps::parts>, {}, "f32|bf16"},
    {"steps.bucket_mb", kSteps<&Recipe::Steps::bucket_mb>, kPositive},
    {"steps.memory_gb", kSteps<&Recipe::Steps::memory_gb>},
    {"steps.epochs", kSteps<&Recipe::Steps::epochs>, kFromOne},
    {"steps.limit", kSteps<&Recipe::Steps::limit>},

    {"parameters.train", kParameters<&Recipe::Parameters::train>},
    {"parameters.freeze", kParameters<&Recipe::Parameters::freeze>},
    {"parameters.last", kParameters<&Recipe::Parameters::last>},
    {"parameters.classes", kParameters<&Recipe::Parameters::classes>, {0, 1 << 24}},
    {"parameters.init", kParameters<&Recipe::Parameters::init>, {}, "|kaiming"},
    {"parameters.batch_norm",
     kParameters<&Recipe::Parameters::batch_norm>,
     {},
     "train|frozen|synced"},
    {"parameters.drop_path", kParameters<&Recipe::Parameters::drop_path>, kBelowOne},

    {"optimizer.kind", kOptimizer<&Recipe::Optimizer::kind>, {}, "sgd|adamw|lars|lamb"},
    {"optimizer.rate", kOptimizer<&Recipe::Optimizer::rate>},
    {"optimizer.momentum", kOptimizer<&Recipe::Optimizer::momentum>, kBelowOne},
    {"optimizer.nesterov", kOptimizer<&Recipe::Optimizer::nesterov>},
    {"optimizer.decay", kOptimizer<&Recipe::Optimizer::decay>},
    {"optimizer.no_decay", kOptimizer<&Recipe::Optimizer::no_decay>},
    {"optimizer.beta1", kOptimizer<&Recipe::Optimizer::beta1>, kBelowOne},
    {"optimizer.beta2", kOptimizer<&Recipe::Optimizer::beta2>, kBelowOne},
    {"optimizer.epsilon", kOptimizer<&Recipe::Optimizer::epsilon>, kPositive},
    {"optimizer.trust", kOptimizer<&Recipe::Optimizer::trust>, kPositive},
    {"optimizer.clip", kOptimizer<&Recipe::Optimizer::clip>},
    {"optimizer.sharded", kOptimizer<&Recipe::Optimizer::sharded>},

    {"rate.kind", kRate<&Recipe::Rate::kind>, {}, "constant|step|cosine|poly|one_cycle"},
    {"rate.warmup_epochs", kRate<&Recipe::Rate::warmup_epochs>},
    {"rate.milestones", kRate<&Recipe::Rate::milestones>, kPositive},
    {"rate.factor", kRate<&Recipe::Rate::factor>, {kPositive.low, 1}},
    {"rate.power", kRate<&Recipe::Rate::power>, kPositive},
    {"rate.floor", kRate<&Recipe::Rate::floor>},

    {"loss.kind", kLoss<&Recipe::Loss::kind>, {}, "cross_entropy|mse|bce"},
    {"loss.smoothing", kLoss<&Recipe::Loss::smoothing>, kBelowOne},
    {"loss.teacher", kLoss<&Recipe::Loss::teacher>, {}, "", true},
    {"loss.teacher_share", kLoss<&Recipe::Loss::teacher_share>, {0, 1}},
    {"loss.temperature", kLoss<&Recipe::Loss::temperature>, kPositive},

    {"keep.log_steps", kKeep<&Recipe::Keep::log_steps>},
    {"keep.every_steps", kKeep<&Recipe::Keep::every_steps>},
    {"keep.checkpoints", kKeep<&Recipe::Keep::checkpoints>, kFromOne},
    {"keep.ema", kKeep<&Recipe::Keep::ema>, kBelowOne},
    {"keep.tensorboard", kKeep<&Recipe::Keep::tensorboard>},
    {"keep.check_steps", kKeep<&Recipe::Keep::check_steps>},
    {"keep.stop_after_epochs_without_gain", kKeep<&Recipe::Keep::stop_after_epochs_without_gain>},
});

// Words of other programs, and the keys that they mean.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherWords = {{
    {"lr", "optimizer.rate"},
    {"learning_rate", "optimizer.rate"},
    {"weight_decay", "optimizer.decay"},
    {"eps", "optimizer.epsilon"},
    {"batch_size", "steps.batch"},
    {"gamma", "rate.factor"},
    {"label_smoothing", "loss.smoothing"},
    {"num_classes", "parameters.classes"},
}};

std::string_view leaf_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Letters to insert, remove or replace (Levenshtein 1966).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

// A TOML basic string.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\')
      result += '\\';
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(letter));
    else
      result += letter;
  }
  return result + '"';
}

struct ToText {
  std::string operator()(const bool *value) const { return *value ? "true" : "false"; }
  std::string operator()(const std::string *value) const { return toml_string(*value); }
  std::string operator()(const std::vector<double> *list) const {
    return fmt::format("[{}]", fmt::join(*list, ", "));
  }
  std::string operator()(const std::vector<std::string> *list) const {
    std::vector<std::string> texts;
    std::transform(list->begin(), list->end(), std::back_inserter(texts), toml_string);
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  template <class Number> std::string operator()(const Number *value) const {
    return fmt::format("{}", *value);
  }
};

bool is_within(double value, const KeyRange &range) {
  return value >= range.low && value <= range.high && !(range.below_high && value == range.high);
}

bool is_word(std::string_view text, std::string_view words) {
  return words.empty() ||
         fmt::format("|{}|", words).find(fmt::format("|{}|", text)) != std::string::npos;
}

bool is_allowed(const RecipeKey &key, const KeyValue &value) {
  const auto allows = [&](auto *at) {
    using Type = std::remove_pointer_t<decltype(at)>;
    if constexpr (std::is_same_v<Type, std::string>)
      return is_word(*at, key.words);
    else if constexpr (std::is_same_v<Type, std::vector<double>>)
      return std::all_of(at->begin(), at->end(),
                         [&](double each) { return is_within(each, key.range); });
    else if constexpr (std::is_arithmetic_v<Type> && !std::is_same_v<Type, bool>)
      return is_within(static_cast<double>(*at), key.range);
    else
      return true;
  };
  return std::visit(allows, value);
}

// " of at least 1 and below 2".
std::string range_text(const KeyRange &range) {
  std::vector<std::string> parts;
  if (range.low == kPositive.low)
    parts.push_back("above 0");
  else if (range.low > -kNoLimit)
    parts.push_back(fmt::format("of at least {}", range.low));
  if (range.high < kNoLimit)
    parts.push_back(fmt::format("{} {}", range.below_high ? "below" : "at most", range.high));
  return parts.empty() ? "" : fmt::format(" {}", fmt::join(parts, " and "));
}

} // namespace

std::string_view RecipeKey::section() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? "" : name.substr(0, dot);
}

std::string_view RecipeKey::leaf() const { return leaf_of(name); }

std::span<const RecipeKey> recipe_keys() { return kKeys; }

const RecipeKey *find_key(std::string_view name) {
  const auto found = std::find_if(kKeys.begin(), kKeys.end(),
                                  [&](const RecipeKey &key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : &*found;
}

std::string_view nearest_name(std::string_view name) {
  std::string_view nearest = kKeys.front().name;
  std::size_t least = std::string_view::npos;
  const auto offer = [&](std::string_view candidate, std::size_t far) {
    if (far < least)
      nearest = candidate, least = far;
  };
  for (const auto &[word, meant] : kOtherWords)
    if (word == leaf_of(name))
      offer(meant, 0);
  for (const RecipeKey &key : kKeys) {
    offer(key.name, distance(name, key.name));
    offer(key.name, distance(leaf_of(name), key.leaf()) + 1); // it may stand in the wrong section
    if (!key.section().empty())
      offer(key.section(), distance(name, key.section()));
  }
  return nearest;
}

void check_value(const RecipeKey &key, Recipe &recipe, const std::string &where) {
  if (!is_allowed(key, key.value(recipe)))
    throw Error(
        ErrorCode::Syntax,
        fmt::format("'{}' is {}, need {}", key.name, value_text(key, recipe), need_text(key)),
        where);
}

std::string value_text(const RecipeKey &key, const Recipe &recipe) {
  return std::visit(ToText{}, key.value(const_cast<Recipe &>(recipe)));
}

std::string need_text(const RecipeKey &key) {
  Recipe example;
  const auto kind = [&](auto *at) -> std::string {
    using Type = std::remove_pointer_t<decltype(at)>;
    if constexpr (std::is_same_v<Type, bool>)
      return "true or false";
    else if constexpr (std::is_same_v<Type, std::string>) {
      if (key.words.empty())
        return "a text in quotes";
      std::string words(key.words);
      for (std::size_t bar = 0; (bar = words.find('|', bar)) != std::string::npos;)
        words.replace(bar, 1, "\", \"");
      return fmt::format("one of \"{}\"", words);
    } else if constexpr (std::is_same_v<Type, std::vector<std::string>>)
      return "texts in quotes in brackets";
    else if constexpr (std::is_same_v<Type, std::vector<double>>)
      return "numbers in brackets, each" + range_text(key.range);
    else
      return (std::is_integral_v<Type> ? "a whole number" : "a number") + range_text(key.range);
  };
  return std::visit(kind, key.value(example));
}

} // namespace tilefuse::train
