#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD OUT: the Python package with the library of BUILD as one wheel for Linux from glibc 2.34 on, into OUT.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "$1")
out=$(realpath -m "$2")
tag=manylinux_2_34_x86_64

cmake --build "$build" --target portable
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r "$root/python/tilefuse" "$stage/tilefuse"
rm -rf "$stage/tilefuse/__pycache__"
cp "$build"/portable/{libtilefuse,libtilefuse_ort,tilefuse_llvm}.so "$stage/tilefuse"

# Shared libraries that come along, under names of their own, so that none of another package is taken for them.
cd "$stage/tilefuse"
libraries='^(libprotobuf|libisl|libgmp|libturbojpeg|libz)\.so'
ldd libtilefuse.so | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r library path; do
  if [[ $library =~ $libraries ]]; then
    cp -L "$path" "tilefuse-$library"
    echo "$library"
  fi
done >"$stage/carried"
while read -r library; do
  patchelf --set-soname "tilefuse-$library" --set-rpath '$ORIGIN' "tilefuse-$library"
  for file in *.so*; do patchelf --replace-needed "$library" "tilefuse-$library" "$file"; done
done <"$stage/carried"
rm "$stage/carried"
patchelf --set-rpath '$ORIGIN' libtilefuse.so
patchelf --set-rpath '$ORIGIN' libtilefuse_ort.so

# What is inside, and its terms.
mkdir licenses
for package in libprotobuf32 libisl23 libgmp10 zlib1g libturbojpeg0 llvm-19-dev libsqlite3-dev libzstd-dev libfmt-dev libstdc++-12-dev; do
  cp -L "/usr/share/doc/$package/copyright" "licenses/$package"
done

newest=$(objdump -T -- *.so* | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
[ "$(printf '%s\n' "$newest" GLIBC_2.34 | sort -V | tail -1)" = GLIBC_2.34 ] ||
  { echo "wheel: needs $newest; the tag $tag allows GLIBC_2.34" >&2; exit 1; }

mkdir -p "$out"
/usr/bin/python3 "$root/scripts/pack_wheel.py" "$stage" "$("$build/bin/tilefuse" --version | awk 'NR == 1 { print $2 }')" "$tag" "$root/LICENSE" "$out"
