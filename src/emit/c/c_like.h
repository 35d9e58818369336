// SPDX-License-Identifier: Apache-2.0
// One printer of the kernel level for every language of C's kind; what differs between them is a
// CEmitter. Names come from ids alone: b0 (global), s2 (local), a3_0 (register 0 of buffer 3), v7
// (variable). Units may be put one after another as long as their symbols differ.
#pragma once

#include "emit/c/c_emitter.h"
#include "kernel/nodes.h"
#include "package/package.h"
#include "target/target.h"

namespace tilefuse::emit {

struct CLikeOptions {
  // The kernel's body as a function of its own, for compilers that copy the entry point several
  // times. Needs a block_size of 1.
  bool outline_body = false;
};

// The kernel's text as a package; the caller says its format. Error{Limit}: more work-items per
// group or larger buffers than there can be; Error{Unsupported}: doubles where the target has none,
// or what the language lacks.
Package c_like_package(const kernel::Kernel &kernel, const Target &target, const CEmitter &language,
                       const CLikeOptions &options);

// Whether a double is stored or computed.
bool uses_fp64(const kernel::Kernel &kernel);

} // namespace tilefuse::emit
