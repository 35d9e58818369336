// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/first_layer.h"

#include <iterator>
#include <optional>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/rewrite/convolution.h"
#include "program/rewrite/first_layer_filter.h"
#include "program/rewrite/first_layer_input.h"
#include "program/rewrite/pixel_source.h"
#include "program/rewrite/rows_of_taps.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

class Widening {
public:
  Widening(const Program &program, const TakesForm &takes) : result_{program, 0}, takes_(takes) {}

  WidenedFirstLayers run() {
    std::vector<Statement> before = std::move(result_.program.statements);
    for (Statement &statement : before) {
      note_cast(result_.program, statement, casts_);
      sources_.note(result_.program, statement);
      if (!rewrite(statement))
        statements_.push_back(std::move(statement));
    }
    result_.program =
        with_statements(std::move(result_.program), std::move(statements_), result_.layers > 0);
    return std::move(result_);
  }

private:
  const Tensor &tensor(TensorId id) const { return result_.program[id]; }

  bool rewrite(const Statement &statement) {
    Program &program = result_.program;
    const std::size_t tensors = program.tensors.size();
    std::vector<Statement> wide;
    const bool is_forward = widen(statement, wide);
    if (!is_forward && !sum_over_runs(program, wide, statement, casts_) &&
        !sum_over_blocks(program, wide, statement))
      return false;
    const bool is_asked = !is_forward || !has_few_channels(statement);
    if (is_asked && !takes_(alone(program, {statement}), alone(program, wide))) {
      program.tensors.resize(tensors);
      return false;
    }
    std::move(wide.begin(), wide.end(), std::back_inserter(statements_));
    ++result_.layers;
    return true;
  }

  // A convolution without gradients.
  bool widen(const Statement &statement, std::vector<Statement> &wide) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    const std::optional<Convolution> conv =
        body != nullptr ? as_convolution(*body) : std::optional<Convolution>();
    if (!conv || !is_worth_it(*conv))
      return false;
    const RowsOfTaps rows(result_.program, wide, *conv, result_extents(*conv, statement));
    const TensorId pixels = rows.store_pixels(source_of(*conv, rows), statement.origin);
    Contraction over_runs = rows.over_runs(*body, pixels, rows.store_filter(statement.origin));
    wide.push_back({statement.out, std::move(over_runs), statement.origin});
    return true;
  }

  // Bytes are made of what was read where the filter's zeros meet what is made of zeros.
  PixelSource source_of(const Convolution &conv, const RowsOfTaps &rows) const {
    const bool is_whole = is_byte(tensor(conv.data).type);
    return is_whole && rows.reads_inside() ? sources_.of(conv.data)
                                           : PixelSource{.from = before_cast(casts_, conv.data),
                                                         .before = {},
                                                         .made = {},
                                                         .origin = {}};
  }

  // No other form of it suits matrix units.
  bool has_few_channels(const Statement &statement) const {
    const auto conv = as_convolution(std::get<Contraction>(statement.body));
    return tensor(conv->data).shape[conv->channel_in_data] <= kFewChannels;
  }

  bool is_worth_it(const Convolution &conv) const {
    const Tensor &filter = tensor(conv.filter);
    const DType type = tensor(conv.data).type;
    return tensor(conv.data).shape[conv.channel_in_data] <= kMostTapChannels &&
           (is_byte(type) ? is_byte(filter.type)
                          : suits_matrix_units(result_.program, type) && type == filter.type) &&
           conv.spatial.back().window.dilation == 1;
  }

  // Of the result along each spatial dimension.
  Shape result_extents(const Convolution &conv, const Statement &statement) const {
    const auto &body = std::get<Contraction>(statement.body);
    Shape extents;
    for (const Spatial &spatial : conv.spatial)
      for (std::size_t d = 0; d < body.out.size(); ++d)
        if (!body.out[d].coeff[at(spatial.output)].is_zero())
          extents.push_back(tensor(statement.out).shape[d]);
    return extents;
  }

  WidenedFirstLayers result_;
  std::vector<Statement> statements_;
  const TakesForm &takes_;
  Casts casts_;
  PixelSources sources_;
};

} // namespace

WidenedFirstLayers widen_first_layers(const Program &program, const TakesForm &takes) {
  return Widening(program, takes).run();
}

} // namespace tilefuse::program
