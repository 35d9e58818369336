#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [program|tests|bundle|wheel|docs|zoo…]: installs the Debian 12 packages that building the program, testing or bundling need;
# only those that are missing. Without a word: all but the zoo's, which are large. As root, or with sudo.
set -euo pipefail

program=(
  make cmake g++ ninja-build ccache
  llvm-19-dev zlib1g-dev libsqlite3-dev libprotobuf-dev protobuf-compiler libonnx-dev opencl-c-headers
  libcli11-dev libfmt-dev libtomlplusplus-dev libstb-dev libturbojpeg0-dev libxxhash-dev libisl-dev nlohmann-json3-dev
)
tests=(
  libgtest-dev librapidcheck-dev python3 python3-numpy python3-venv python3-pyopencl pkg-config debootstrap
  clang-19 libclang-rt-19-dev
  ocl-icd-libopencl1 pocl-opencl-icd oclgrind
  libopenmpi-dev openmpi-bin libmpich-dev mpich slurmctld slurmd slurm-client munge
  chromium-headless-shell tidy poppler-utils tmux
)
bundle=(binutils patchelf dpkg-dev file)
wheel=(binutils patchelf python3 libzstd-dev)
docs=(mkdocs python3)
zoo=(python3-torch python3-torchvision)

[ "$#" -eq 0 ] && set -- program tests bundle wheel docs
packages=()
for part in "$@"; do
  case $part in
  program) packages+=("${program[@]}") ;;
  tests) packages+=("${tests[@]}") ;;
  bundle) packages+=("${bundle[@]}") ;;
  wheel) packages+=("${wheel[@]}") ;;
  docs) packages+=("${docs[@]}") ;;
  zoo) packages+=("${zoo[@]}") ;;
  *) echo "setup: there is no part '$part'; there are program, tests, bundle, wheel, docs and zoo" >&2; exit 1 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: missing: ${missing[*]}; need root or sudo to install them" >&2; exit 1; }
  root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${root[@]}" apt-get update -q
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
