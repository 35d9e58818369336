#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh FOLDER [CMAKE-OPTION…]: configures where needed and builds everything into FOLDER.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
shift
mkdir -p "$build"
# CMake finds the LLVM of other versions first unless told.
cmake -S "$root" -B "$build" -G Ninja -DLLVM_DIR=/usr/lib/llvm-19/lib/cmake/llvm "$@" >"$build.log" 2>&1 || {
  cat "$build.log" >&2
  exit 1
}
rm -f "$build.log"
cmake --build "$build"
