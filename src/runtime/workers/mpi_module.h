// SPDX-License-Identifier: Apache-2.0
// MPI lives in a module of its own, tilefuse_mpi, built where CMake finds MPI and opened at run time in
// one of the own_folders() (base/own_folders.h): implementations of MPI have no common binary
// interface, so what calls one is compiled against it.
#pragma once

#include <string>

namespace tilefuse::runtime {

inline constexpr int kMpiInterface = 2; // of the functions below
inline constexpr int kMpiRow = 2048;    // bytes; parts are counted in rows, which an int can

// What the module has, each 0 or MPI's code but where nothing can fail. Names begin with "tilefuse_mpi_".
struct MpiModule {
  int (*interface)() = nullptr;
  int (*start)(int *rank, int *count) = nullptr;
  void (*end)() = nullptr;
  int (*broadcast)(void *bytes, int count) = nullptr;                // of rank 0
  int (*swap_parts)(const void *from, void *to, int rows) = nullptr; // of a part
  int (*gather_parts)(void *all, int rows) = nullptr;
  int (*sum)(float *all, int elems) = nullptr;
  void (*describe)(int code, char *text, int bytes) = nullptr;
};

// Opened once and kept; null with the reason in `why`.
const MpiModule *mpi_module(std::string *why);

} // namespace tilefuse::runtime
