// SPDX-License-Identifier: Apache-2.0
// A libnvrtc.so that compiles any program to one byte, for a driver that runs nothing
// (tests/runtime/fake_cuda.cpp).
#include <cstddef>

// clang-format off
extern "C" {
int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 8; return 0; }
const char *nvrtcGetErrorString(int) { return "fake"; }
int nvrtcCreateProgram(void **program, const char *, const char *, int, const char *const *, const char *const *) { *program = nullptr; return 0; }
int nvrtcCompileProgram(void *, int, const char *const *) { return 0; }
int nvrtcDestroyProgram(void **) { return 0; }
int nvrtcGetProgramLogSize(void *, std::size_t *bytes) { *bytes = 0; return 0; }
int nvrtcGetProgramLog(void *, char *) { return 0; }
int nvrtcGetCUBINSize(void *, std::size_t *bytes) { *bytes = 1; return 0; }
int nvrtcGetCUBIN(void *, char *code) { *code = 'x'; return 0; }
}
// clang-format on
