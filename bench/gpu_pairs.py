#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs beside each other on one GPU, in turn in one call: what a change did to speed.

    bench/gpu_pairs.py time OLD NEW OUT     OLD, NEW: unpacked archives of `scripts/bundle.sh BUILD OUT bench`
    bench/gpu_pairs.py table OUT            markdown of what `time` wrote

`time` writes OUT/layers.csv (ResNet-50's convolutions in f16 by bench_gpu_layers, three directions, batch 32 and 256) and
OUT/networks.csv (bench/resnet50_model.py by `tilefuse bench`, batch 1, 32 and 256, three runs of each program in turn).
`table` prints old time over new: geometric means with the worst layers, and networks by their medians.
"""
import csv
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

DIRECTIONS = ["forward", "input_gradient", "filter_gradient"]
ROUNDS = 3


def run(program, command, scratch):
    # A cache of its own each: both find it empty first and full afterwards.
    name = os.path.basename(os.path.normpath(program))
    env = dict(os.environ, TILEFUSE_CACHE=f"{scratch}/{name}/kernels.sqlite")
    os.makedirs(f"{scratch}/{name}", mode=0o700, exist_ok=True)
    return subprocess.run([f"{program}/bin/{command[0]}", *command[1:]], env=env, capture_output=True, text=True, check=True).stdout


def time_layers(programs, scratch, out):
    rows = csv.writer(open(f"{out}/layers.csv", "w"), lineterminator="\n")
    rows.writerow(["layer", "batch", "direction", "program", "schedule", "us", "p10_us", "p90_us"])
    for batch in (32, 256):
        for direction in DIRECTIONS:
            for name, program in programs.items():
                text = run(program, ["bench_gpu_layers", "--device", "cuda", "--type", "f16", "--batch", str(batch), "--direction",
                                     direction, "--epilogue", "plain", "--ways", "picked"], scratch)
                for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
                    if row.get("us"):
                        rows.writerow([row["layer"], batch, direction, name] + [row[key] for key in ("schedule", "us", "p10_us", "p90_us")])


def time_networks(programs, scratch, out):
    rows = csv.writer(open(f"{out}/networks.csv", "w"), lineterminator="\n")
    rows.writerow(["batch", "program", "round", "ms", "p10_ms", "p90_ms"])
    model = f"{scratch}/resnet50.onnx"
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, f"{here}/resnet50_model.py", model], check=True)
    for batch in (1, 32, 256):
        for turn in range(ROUNDS):
            for name, program in programs.items():
                text = run(program, ["tilefuse", "bench", model, "--device", "cuda", "--precision", "f16", "--batch", str(batch),
                                     "--repeat", "200", "--no-records"], scratch)
                found = re.search(r"median ([\d.]+) ms, p10 ([\d.]+), p90 ([\d.]+)", text)
                rows.writerow([batch, name, turn, *found.groups()])


def ratios(rows, key):
    """Old time over new by key, from rows with `program` and `time`."""
    times = {}
    for row in rows:
        times.setdefault(key(row), {}).setdefault(row["program"], []).append(float(row.get("us") or row["ms"]))
    return {k: statistics.median(t["old"]) / statistics.median(t["new"]) for k, t in times.items() if len(t) == 2}


def table(out):
    layers = list(csv.DictReader(open(f"{out}/layers.csv")))
    print("| batch | direction | old over new, geometric mean | lowest |\n|---|---|---|---|")
    for batch in ("32", "256"):
        for direction in DIRECTIONS:
            of = ratios([r for r in layers if r["batch"] == batch and r["direction"] == direction], lambda r: r["layer"])
            mean = math.exp(statistics.mean(map(math.log, of.values())))
            lowest = ", ".join(f"{k} {v:.3f}" for k, v in sorted(of.items(), key=lambda item: item[1])[:2])
            print(f"| {batch} | {direction.replace('_', ' ')} | {mean:.3f} | {lowest} |")
    networks = list(csv.DictReader(open(f"{out}/networks.csv")))
    print("\n| batch | old ms | new ms | old over new |\n|---|---|---|---|")
    for batch, ratio in ratios(networks, lambda r: r["batch"]).items():
        ms = {name: ", ".join(r["ms"] for r in networks if r["batch"] == batch and r["program"] == name) for name in ("old", "new")}
        print(f"| {batch} | {ms['old']} | {ms['new']} | {ratio:.3f} |")


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "time":
        programs = {"old": sys.argv[2], "new": sys.argv[3]}
        with tempfile.TemporaryDirectory() as scratch:
            time_layers(programs, scratch, sys.argv[4])
            time_networks(programs, scratch, sys.argv[4])
    elif len(sys.argv) == 3 and sys.argv[1] == "table":
        table(sys.argv[2])
    else:
        sys.exit(__doc__)


main()
