// SPDX-License-Identifier: Apache-2.0
// What a chosen tile becomes in PlaidML v0: layouts in shared memory, threads, outline.
//
//          Range    Global     Local
//    i_x       3     14336         1
//    j_y       4        64       393
//     ci       8         1        49
//      n      16   3211264         3
#pragma once

#include <string>
#include <vector>

#include "cost/plaidml/plaidml_kernels.h"
#include "cost/plaidml/plaidml_layout.h"
#include "cost/plaidml/plaidml_threads.h"

namespace tilefuse::report {

class PlaidmlMapping {
public:
  // All are borrowed; `flat` is the kernel's prepared form.
  PlaidmlMapping(const cost::plaidml::Kernel &kernel, const cost::plaidml::Flat &flat,
                 const cost::plaidml::Tile &tile, const cost::plaidml::Settings &settings);

  // One table per input: merged indices first, then by name.
  std::string layouts() const;
  // Groups, threads per index, registers.
  std::string threads() const;
  // The kernel's steps.
  std::string outline(std::size_t number) const;

private:
  std::string layout(std::size_t input) const;
  std::string grid() const;
  std::string uneven() const;
  std::string outer_loops() const;

  const cost::plaidml::Kernel &kernel_;
  const cost::plaidml::Flat &flat_;
  const cost::plaidml::Tile &tile_;
  bool in_place_;                                    // inputs are not staged
  std::vector<cost::plaidml::SharedLayout> layouts_; // by input
  cost::plaidml::ThreadPlan plan_;
};

} // namespace tilefuse::report
