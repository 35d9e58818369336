// SPDX-License-Identifier: Apache-2.0
// Which tensors of a program keep f32 when the others are stored in a narrower type, and why.
#pragma once

#include <string_view>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

enum class Keeps : std::uint8_t { Nothing, OtherType, Output, Statistic, Between, Small, Range };

// "a statistic", for people.
std::string_view reason(Keeps keeps);

// By TensorId, for temporaries; tensors that share memory (views, pieces of concatenations, inits)
// agree. Inputs and constants of f32 are Nothing here: they are converted where they are used.
std::vector<Keeps> choose_kept(const Program &program);

// Whether every value of an f32 constant lies in the type's range; its data are there.
bool fits(const Tensor &constant, DType type);

} // namespace tilefuse::program
