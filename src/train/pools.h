// SPDX-License-Identifier: Apache-2.0
// Device memory that outlives a step: parameters, what was learned of a batch, and each state of the
// optimiser.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/host_tensor.h"
#include "runtime/device.h"
#include "train/update_program.h"

namespace tilefuse::train {

class Pools {
public:
  struct Rows { // of all, where the program has less or needs less
    std::int64_t learned = 0;
    std::int64_t parameters = 0; // and of each state that all workers have whole
  };
  // All zeros, but the loss scale.
  Pools(runtime::Device &device, const UpdateProgram &update, double loss_scale, const Rows &rows);

  // A whole pool: the name of a state, or "learned", "rate".
  runtime::Binding whole(const std::string &name) const;
  // The first rows of a pool, and so many elements from one on.
  runtime::Binding rows(const std::string &name, std::int64_t count) const;
  runtime::Binding elems(const std::string &name, std::int64_t first, std::int64_t count) const;
  // A parameter's part of a pool of rows.
  runtime::Binding part(const std::string &name, const PooledParameter &entry) const;
  std::int64_t bytes() const;

  void write(const std::string &name, const std::vector<float> &values);
  std::vector<float> read(const std::string &name) const;
  std::vector<std::string> names() const;

private:
  void add(const std::string &name, std::int64_t elems);

  runtime::Device &device_;
  struct Pool {
    std::unique_ptr<runtime::Memory> memory;
    std::int64_t bytes = 0;
  };
  std::map<std::string, Pool> pools_;
};

} // namespace tilefuse::train
