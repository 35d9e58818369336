// SPDX-License-Identifier: Apache-2.0
// The emitter of a target.
#pragma once

#include "emit/emitter.h"

namespace tilefuse::emit {

// The emitter of a target's back end; null with the reason in `why` when it cannot be had.
std::unique_ptr<Emitter> make_emitter(const Target &target, std::string *why);

} // namespace tilefuse::emit
