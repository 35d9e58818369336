// SPDX-License-Identifier: Apache-2.0
// A program by its definition, element by element, and the same program through the windows of its
// storage: both must agree. Slow and independent of the code under test; index ranges are searched
// in [-4, 400].
#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "program/storage/storage.h"

namespace tilefuse::program::testing {

using Values = std::vector<double>;

// Gives every constant data: small integers that differ by tensor and element.
void fill_constants(Program &program);
// Small integers for the k-th input.
Values input_values(const Program &program, std::size_t k);

// Row-major values of each output, of input_values or of the given values of each input. Nothing is
// rounded to a tensor's type, except by a cast to an integer or to bool.
std::vector<Values> run(const Program &program);
std::vector<Values> run(const Program &program, const std::vector<Values> &inputs);
// The same over buffers that hold NaN wherever nothing was written and no zeroing was asked for.
std::vector<Values> run(const StoredProgram &stored);

// The text without the hashes of constants.
std::string lines_of(const Program &program);

// parse, fill_constants, verify.
Program program_of(const std::string &text);

} // namespace tilefuse::program::testing
