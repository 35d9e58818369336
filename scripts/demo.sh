#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD: the repository's own network on its pictures, trained on them for some steps; SqueezeNet on photographs where
# ../shared/data has them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tilefuse=$1/bin/tilefuse
data=${TILEFUSE_DATA:-$(dirname "$root")/shared/data}

say() { printf '\n$ %s\n' "$*"; "$@"; }

cd "$root"
say "$tilefuse" devices
say "$tilefuse" run examples/glyphs/model.onnx --top 2 --verbose --image examples/glyphs/images/*.png
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
say "$tilefuse" train examples/glyphs/recipe.toml -o "$runs/glyphs"
say "$tilefuse" evaluate "$runs/glyphs/best.onnx" --data list:examples/glyphs/train.txt --side 32 --mean 0.5,0.5,0.5 --std 0.5,0.5,0.5
if [ -d "$data/models/squeezenet11_fp32" ]; then
  say "$tilefuse" run "$data/models/squeezenet11_fp32/model.onnx" --preset imagenet-caffe --top 3 --repeat 10 \
    --labels "$data/labels/imagenet_synset.txt" --image "$data"/images/*.jpg
else
  printf '\nNo %s: SqueezeNet is left out.\n' "$data"
fi
