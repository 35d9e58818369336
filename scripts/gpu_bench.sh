#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_bench.sh BUILD OUT [DEVICE…]: checks and times everything on a GPU in one call; tables as CSV in the folder OUT.
#
#   model_DEVICE.csv   the cost model against the clock (bench_model_accuracy), all kinds of layers, first device
#   layers_DEVICE.csv  ResNet-50's convolutions under every algorithm at batch 1 and 32, with their errors; gradients as picked
#   tensor_cores.csv   the same and their gradients on tensor cores, by type, batch and epilogue, by the first CUDA device
#   ilpm_DEVICE.csv    ILP-M's own table (bench_ilpm), with the simulator's counts
#   cudnn.csv          the same by PyTorch, where it is installed, measured in the same way
#   counters.csv       hardware counters of the layers that fare worst beside PyTorch, where ncu is installed
#   networks.csv       whole networks: device, model, milliseconds of a run
#   log.txt            what was checked: answers, conformance, kernels that are wrong
#
# BUILD is a build folder, or the unpacked archive that `bundle.sh BUILD OUT bench` writes; it is built where it has no
# program. Devices are cuda and opencl:nvidia unless named. Every step ends at a limit of its own, and what it had printed
# stays. Steps are left out by name: GPU_BENCH_SKIP="layers doctor". Networks are looked for in TILEFUSE_DATA, else
# ../shared/data.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(mkdir -p "$1" && cd "$1" && pwd)
out=$(mkdir -p "$2" && cd "$2" && pwd)
shift 2
devices=("$@")
[ ${#devices[@]} -gt 0 ] || devices=(cuda opencl:nvidia)
data=${TILEFUSE_DATA:-$(dirname "$root")/shared/data}
skip=" ${GPU_BENCH_SKIP:-} "
kinds="conv3x3_64 conv3x3_256 conv3x3_512s2 expand3x3_16 conv1x1_256 squeeze1x1_512 down1x1s2_256 first7x7s2 first3x3s2
  depthwise_144 depthwise_512s2 dense_2048 maxpool3s2_64 add_channel_256"

[ -x "$build/bin/tilefuse" ] || "$root/scripts/build.sh" "$build" -DTILEFUSE_BENCH=ON || exit 1
tilefuse=$build/bin/tilefuse
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TILEFUSE_CACHE=$scratch/kernels.sqlite

wanted() { [[ $skip != *" $1 "* ]]; }
name_of() { tr -c 'a-z0-9\n' _ <<<"$1"; }
# Runs a command for at most so many seconds and says how it ended.
within() { # SECONDS COMMAND…
  local begin=$SECONDS status=0
  timeout -k 5 "$@" || status=$?
  [ "$status" = 0 ] || printf '! %s ended with %s after %s s\n' "${*:2}" "$status" "$((SECONDS - begin))" >&2
}

answers() { # DEVICE
  within 60 "$tilefuse" run "$data/models/squeezenet11_fp32/model.onnx" --device "$1" --preset imagenet-caffe --top 1 \
    --labels "$data/labels/imagenet_synset.txt" --image "$data"/images/*.jpg
}

# One process per layer: a kernel that breaks the driver's context ends its layer alone.
model_accuracy() { # DEVICE
  echo "device,layer,origin,predicted_us,measured_us,p10_us,p90_us,schedule"
  for layer in $kinds; do
    within 40 "$build/bin/bench_model_accuracy" --device "$1" --only "$layer" --top "${GPU_BENCH_TOP:-5}" \
      --ranked "${GPU_BENCH_RANKED:-60}" --samples "${GPU_BENCH_SAMPLES:-30}" --together 100 --limit-ms 30 --never-ms 500 --warm-ms 200 | tail -n +2
  done
}

layers() { # DEVICE BATCH [DIRECTION]
  local direction=${3:-forward} epilogue=relu ways=picked,whole,igemm,pointwise,first_layer,ilpm,direct,direct_cached,plaidml
  [ "$direction" = forward ] || { epilogue=plain && ways=picked; }
  within "${GPU_BENCH_LAYERS_S:-60}" "$build/bin/bench_gpu_layers" --batch "$2" --device "$1" --type f32 --epilogue $epilogue \
    --direction "$direction" --ways $ways
}

# What tensor cores compute, as options of both sides: type of ours, type of the peer's, batch, direction, epilogue, form.
tensor_core_runs="
f16 float16 256 forward plain flushed
f16 float16 256 input_gradient plain flushed
f16 float16 256 filter_gradient plain flushed
f16 float16 256 forward full flushed
f16 float16 32 forward plain flushed
f16 float16 32 input_gradient plain flushed
f16 float16 32 filter_gradient plain flushed
f16 float16 1 forward plain graph
f16 float16 1 forward plain flushed
tf32 tf32 32 forward plain flushed
i8 int8 256 forward relu flushed
i8 - 256 forward relu blocks
f16 float16 256 forward relu flushed
bf16 bfloat16 256 forward plain flushed
f16 float16 32 forward plain odd
bf16 bfloat16 32 forward plain odd"

form_options() { # FORM
  case $1 in
  flushed) ;;
  odd) echo --list odd ;;
  *) echo "--$1" ;;
  esac
}

tensor_cores() { # DEVICE
  while read -r type _ batch direction epilogue form; do
    [ -n "$type" ] || continue
    ways=${GPU_BENCH_WAYS:-picked,whole,core#1,core#2,core#3,core#5,core#8}
    [ "$type" = tf32 ] && ways=tf32#1,tf32#2,tf32#3,tf32#5,tf32#8 # the first is what --precision tf32 takes
    within "${GPU_BENCH_LAYERS_S:-90}" "$build/bin/bench_gpu_layers" --device "$1" --type "$type" --batch "$batch" \
      --direction "$direction" --epilogue "$epilogue" --ways "$ways" $(form_options "$form")
  done <<<"${GPU_BENCH_RUNS:-$tensor_core_runs}"
}

peer() {
  while read -r _ type batch direction epilogue form; do
    [ "${type:--}" = - ] && continue
    within 90 python3 "$root/bench/cudnn_layers.py" --type "$type" --direction "$direction" --epilogue "$epilogue" \
      $(form_options "$form") "$batch"
  done <<<"${GPU_BENCH_RUNS:-$tensor_core_runs}"
}

# Random problems of every type and direction; under compute-sanitizer a few of them, where it is installed.
checks() { # DEVICE
  for direction in forward input_gradient filter_gradient; do
    for type in f16 bf16 i8 tf32; do
      [[ $direction != forward && ($type = i8 || $type = tf32) ]] && continue
      run=("$build/bin/bench_gpu_layers" --device "$1" --type "$type" --direction "$direction")
      within 120 "${run[@]}" --check "${GPU_BENCH_CHECKS:-200}"
      wanted sanitizer && command -v compute-sanitizer >/dev/null || continue
      for tool in memcheck racecheck synccheck; do
        within 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "${run[@]}" --check 4 --seed 2
      done
    done
  done
}

# ILP-M's own table: four layers, one image, its rivals, what the simulator counts.
ilpm() { # DEVICE
  within "${GPU_BENCH_ILPM_S:-60}" "$build/bin/bench_ilpm" "$1" 15 simulate
}

networks() { # DEVICE
  for model in "$data"/models/squeezenet11_fp32/model.onnx "$data"/models_light/light_{resnet50,densenet121}.onnx; do
    [ -f "$model" ] || continue
    ms=$(within 60 "$tilefuse" bench "$model" --device "$1" --repeat 100 | grep -oP 'median \K[0-9.]+' | head -1)
    echo "$1,$(basename "$(dirname "$model")")/$(basename "$model"),$ms"
  done
}

main() {
  nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader 2>/dev/null
  "$tilefuse" devices
  for device in "${devices[@]}"; do
    wanted answers && answers "$device"
  done
  wanted model && model_accuracy "${devices[0]}" >"$out/model_$(name_of "${devices[0]}").csv"
  for device in "${devices[@]}"; do
    for batch in 1 32; do
      wanted layers && layers "$device" "$batch" >>"$out/layers_$(name_of "$device").csv"
    done
    for direction in input_gradient filter_gradient; do
      wanted layers && layers "$device" 32 "$direction" >>"$out/layers_$(name_of "$device").csv"
    done
  done
  for device in "${devices[@]}"; do
    wanted ilpm && ilpm "$device" >"$out/ilpm_$(name_of "$device").csv"
  done
  [[ ${devices[0]} == cuda* ]] && wanted checks && checks "${devices[0]}"
  [[ ${devices[0]} == cuda* ]] && wanted cores && tensor_cores "${devices[0]}" >"$out/tensor_cores.csv"
  wanted cudnn && python3 -c 'import torch' && peer >"$out/cudnn.csv"
  wanted cudnn && python3 -c 'import torch' && {
    within 90 python3 "$root/bench/cudnn_layers.py" --epilogue relu 1 32
    for direction in input_gradient filter_gradient; do
      within 90 python3 "$root/bench/cudnn_layers.py" --direction $direction 32
    done
  } >>"$out/cudnn.csv"
  [ -s "$out/cudnn.csv" ] && wanted counters && command -v ncu >/dev/null && within 300 "$root/bench/gpu_counters.py" \
    "$build/bin/bench_gpu_layers" "$out/tensor_cores.csv" "$out/cudnn.csv" >"$out/counters.csv"
  echo "device,model,ms" >"$out/networks.csv"
  for device in "${devices[@]}"; do
    wanted networks && networks "$device" | tee -a "$out/networks.csv"
    wanted verify && within 60 "$tilefuse" verify "$data/models/squeezenet11_fp32/model.onnx" --device "$device" --samples 300
    wanted doctor && within 60 "$tilefuse" doctor --device "$device" --seconds 5 --reproducers "$scratch"
  done
  echo "$SECONDS s"
}

main 2>&1 | tee "$out/log.txt"
