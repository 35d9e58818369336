// SPDX-License-Identifier: Apache-2.0
// A module tilefuse_llvm from before modules said which interface they have.
extern "C" __attribute__((visibility("default"))) void *tilefuse_make_llvm_emitter() {
  __builtin_trap();
}
