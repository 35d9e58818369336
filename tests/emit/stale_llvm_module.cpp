// SPDX-License-Identifier: Apache-2.0
// A module tilefuse_llvm of another build.
extern "C" __attribute__((visibility("default"))) const char *tilefuse_llvm_interface() {
  return "0123456789abcdef";
}

extern "C" __attribute__((visibility("default"))) void *tilefuse_make_llvm_emitter() {
  __builtin_trap();
}
