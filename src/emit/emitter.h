// SPDX-License-Identifier: Apache-2.0
// From kernel to package, for one back end. One of the three interfaces of tilefuse; an emitter is
// stateless between calls and may be called from several threads.
#pragma once

#include <memory>
#include <string>

#include "kernel/nodes.h"
#include "package/package.h"
#include "target/target.h"

namespace tilefuse::emit {

class Emitter {
public:
  virtual ~Emitter() = default;
  virtual Package emit(const kernel::Kernel &kernel, const Target &target) const = 0;
};

} // namespace tilefuse::emit
