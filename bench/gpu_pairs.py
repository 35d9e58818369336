#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs beside each other on one GPU, in turn in one call: what a change did to speed.

    bench/gpu_pairs.py time OLD NEW OUT [SECONDS]   OLD, NEW: unpacked archives of `scripts/bundle.sh BUILD OUT bench`
    bench/gpu_pairs.py table OUT                    markdown of what `time` wrote

`time` writes OUT/networks.csv (bench/resnet50_model.py by `tilefuse bench`, batch 1, 32 and 256, three runs of each program in turn)
and OUT/layers.csv (ResNet-50's convolutions and odd ones by bench_gpu_layers: f16 in three directions at batch 256, 32 and 1, i8, tf32),
the cases that matter most first. No case begins after SECONDS; those left out are named. Where a layer runs the same schedule and is
more than 2 % slower, it is timed a second time. `table` prints old time over new: geometric means with the worst layers, networks by
their medians, and beside an H200's own times those of docs/measurements.
"""
import csv
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
NETWORKS = (256, 32, 1)
KEPT = 0.98  # old time over new that is no loss
# type, batch, direction, epilogue, way, list, form
CASES = [("f16", 256, direction, "plain", "picked", "resnet50", "flushed") for direction in ("forward", "input_gradient", "filter_gradient")]
CASES += [("f16", 32, *case[2:]) for case in CASES] + [("i8", 256, "forward", "relu", "picked", "resnet50", "flushed"),
                                                       ("tf32", 32, "forward", "plain", "tf32#1", "resnet50", "flushed"),
                                                       ("f16", 32, "forward", "plain", "picked", "odd", "flushed")]
CASES += [("f16", 1, *case[2:6], "graph") for case in CASES[:3]]
FIELDS = ["type", "batch", "direction", "epilogue", "list", "form"]


def of(case):
    """What names a case: all but the way by which a program is asked for its schedule."""
    return [str(value) for value in case[:4] + case[5:]]


def run(program, command, scratch):
    # A cache of its own each: both find it empty first and full afterwards.
    name = os.path.basename(os.path.normpath(program))
    env = dict(os.environ, TILEFUSE_CACHE=f"{scratch}/{name}/kernels.sqlite")
    os.makedirs(f"{scratch}/{name}", mode=0o700, exist_ok=True)
    return subprocess.run([f"{program}/bin/{command[0]}", *command[1:]], env=env, capture_output=True, text=True, check=True).stdout


def layers_of(program, case, scratch, only=()):
    kind, batch, direction, epilogue, way, layers, form = case
    text = run(program, ["bench_gpu_layers", "--device", "cuda", "--type", kind, "--batch", str(batch), "--direction", direction,
                         "--epilogue", epilogue, "--ways", way, "--list", layers, *(["--graph"] if form == "graph" else []),
                         *(["--only", *only] if only else [])], scratch)
    return [row for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")) if row.get("us")]


def time_layers(programs, scratch, out, end):
    file = open(f"{out}/layers.csv", "w")
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow([*FIELDS, "layer", "program", "round", "schedule", "us", "p10_us", "p90_us"])
    for case in CASES:
        if time.monotonic() > end:
            print(f"left out: {' '.join(of(case))}")
            continue
        found, only = {}, ()
        for turn in range(2):
            for name, program in programs.items():
                for row in layers_of(program, case, scratch, only):
                    found.setdefault(row["layer"], {})[name] = row
                    rows.writerow([*of(case), row["layer"], name, turn] + [row[key] for key in ("schedule", "us", "p10_us", "p90_us")])
            file.flush()
            only = [layer for layer, pair in found.items() if len(pair) == 2 and float(pair["old"]["us"]) < KEPT * float(pair["new"]["us"])]
            if not only:
                break


def time_networks(programs, scratch, out):
    rows = csv.writer(open(f"{out}/networks.csv", "w"), lineterminator="\n")
    rows.writerow(["batch", "program", "round", "ms", "p10_ms", "p90_ms"])
    model = f"{scratch}/resnet50.onnx"
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, f"{here}/resnet50_model.py", model], check=True)

    for batch in NETWORKS:
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


def published():
    """Microseconds of docs/measurements by case and layer: the schedule picked, on an H200."""
    here = os.path.dirname(os.path.abspath(__file__))
    times, key, heading = {}, (), []
    for row in csv.reader(open(f"{here}/../docs/measurements/tensor_cores_h200.csv")):
        if row[0].startswith("#"):
            key = tuple(word.strip() for word in row[-3:])
        elif row[0] == "layer":
            heading = row
        elif (line := dict(zip(heading, row)))["us"]:
            form = "graph" if "graph" in key[2] else "flushed"
            case = (key[0], line["batch"], line["direction"], key[1], "odd" if "odd" in key[2] else "resnet50", form)
            times.setdefault((case, line["layer"]), float(line["us"]))
    return times


def mean(of):
    return f"{math.exp(statistics.mean(map(math.log, of))):.3f}" if of else ""


def table(out):
    layers = list(csv.DictReader(open(f"{out}/layers.csv")))
    known = published()
    print("| type | batch | direction | epilogue | list | form | layers | old over new, geometric mean | lowest | published over new |")
    print("|---" * 10 + "|")
    for case in dict.fromkeys(tuple(row[field] for field in FIELDS) for row in layers):
        rows = [row for row in layers if tuple(row[field] for field in FIELDS) == case]
        of = ratios(rows, lambda row: row["layer"])
        lowest = ", ".join(f"{k} {v:.3f}" for k, v in sorted(of.items(), key=lambda item: item[1])[:3])
        new = {row["layer"]: float(row["us"]) for row in rows if row["program"] == "new"}
        past = [known[case, layer] / us for layer, us in new.items() if (case, layer) in known]
        print(f"| {' | '.join(case)} | {len(of)} | {mean(of.values())} | {lowest} | {mean(past)} |")
    networks = list(csv.DictReader(open(f"{out}/networks.csv")))
    print("\n| batch | old ms | new ms | old over new |\n|---|---|---|---|")
    for batch, ratio in ratios(networks, lambda r: r["batch"]).items():
        ms = {name: ", ".join(r["ms"] for r in networks if r["batch"] == batch and r["program"] == name) for name in ("old", "new")}
        print(f"| {batch} | {ms['old']} | {ms['new']} | {ratio:.3f} |")


def main():
    if len(sys.argv) in (5, 6) and sys.argv[1] == "time":
        programs = {"old": sys.argv[2], "new": sys.argv[3]}
        end = time.monotonic() + (float(sys.argv[5]) if len(sys.argv) == 6 else math.inf)
        with tempfile.TemporaryDirectory() as scratch:
            time_networks(programs, scratch, sys.argv[4])
            time_layers(programs, scratch, sys.argv[4], end)
    elif len(sys.argv) == 3 and sys.argv[1] == "table":
        table(sys.argv[2])
    else:
        sys.exit(__doc__)


main()
