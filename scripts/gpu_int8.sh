#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_int8.sh BUILD OUT: networks in 8-bit integers on the first CUDA device, in one call: quantised here, every kernel
# verified, then timed beside f16 by turns. Prints what it does; tables as CSV in the folder OUT.
#
# ResNet-50 is made by bench/resnet50_model.py; MobileNetV2 is the backbone of deeplabv3_mnv2 in TILEFUSE_DATA, else
# ../shared/data, and left out where that is missing.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(mkdir -p "$1" && cd "$1" && pwd)
out=$(mkdir -p "$2" && cd "$2" && pwd)
data=${TILEFUSE_DATA:-$(dirname "$root")/shared/data}
[ -x "$build/bin/tilefuse" ] || "$root/scripts/build.sh" "$build" || exit 1
tilefuse=$build/bin/tilefuse
failed=0

try() { echo "== $*"; timeout 240 "$@" || { echo "failed: $*"; failed=1; }; }

inputs() { # FILE SHAPE
  python3 -c "import numpy, sys; numpy.save(sys.argv[1], numpy.random.default_rng(1).normal(size=eval(sys.argv[2])).astype('f'))" \
    "$1" "($2)"
}

inputs "$out/pictures.npy" 1,3,224,224
python3 "$root/bench/resnet50_model.py" "$out/resnet50.onnx" || exit 1
try "$tilefuse" quantize "$out/resnet50.onnx" --device cuda --calibrate "$out/pictures.npy" --output "$out/resnet50.int8.onnx"
try "$tilefuse" verify "$out/resnet50.int8.onnx" --device cuda --batch 2
for batch in 1 32 256; do
  for turn in 1 2 3; do
    try "$tilefuse" bench "$out/resnet50.int8.onnx" --device cuda --batch $batch --repeat 30 --csv "$out/resnet50_int8_${batch}_$turn.csv"
    try "$tilefuse" bench "$out/resnet50.onnx" --device cuda --batch $batch --repeat 30 --precision f16 \
      --csv "$out/resnet50_f16_${batch}_$turn.csv"
  done
done
mobile=$data/models/deeplabv3_mnv2/model.onnx
if [ -f "$mobile" ]; then
  inputs "$out/scenes.npy" 1,257,257,3
  try "$tilefuse" verify "$mobile" --device cuda --precision int8 --input "$out/scenes.npy"
  for turn in 1 2 3; do
    try "$tilefuse" bench "$mobile" --device cuda --repeat 30 --precision int8 --calibrate "$out/scenes.npy" \
      --csv "$out/mobile_int8_$turn.csv"
    try "$tilefuse" bench "$mobile" --device cuda --repeat 30 --precision f16 --csv "$out/mobile_f16_$turn.csv"
  done
else
  echo "left out: $mobile is missing"
fi
exit $failed
