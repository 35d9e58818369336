#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of the layers that fare worst beside cuDNN, ours and cuDNN's kernels alike, as CSV; needs ncu.

    bench/gpu_counters.py BENCH TENSOR_CORES.csv CUDNN.csv [--batch 256] [--worst 3] [--seconds 20]

BENCH is the program bench_gpu_layers; the two tables are what scripts/gpu_bench.sh measured on the same machine. A row is a
kernel of a layer: microseconds, bytes of device memory read and written (MB), the share of their peaks at which device memory,
second-level cache and tensor cores worked while it ran (%), the clock of the multiprocessors (GHz). ncu flushes the caches
before every kernel and runs it once for each group of counters.
"""
import argparse
import csv
import pathlib
import subprocess
import sys

import gpu_tables

METRICS = {"gpu__time_duration.sum": "us", "dram__bytes_read.sum": "read_mb", "dram__bytes_write.sum": "written_mb",
           "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory_share",
           "lts__throughput.avg.pct_of_peak_sustained_elapsed": "cache_share",
           "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "tensor_share",
           "sm__cycles_elapsed.avg.per_second": "ghz"}
UNITS = {"ns": 1e-3, "us": 1, "usecond": 1, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3, "byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1,
         "Gbyte": 1e3, "%": 1, "hz": 1e-9, "Hz": 1e-9, "Khz": 1e-6, "Mhz": 1e-3, "Ghz": 1, "cycle/nsecond": 1, "cycle/second": 1e-9}
COLUMNS = ["type", "direction", "batch", "layer", "ratio", "of", "kernel"] + list(METRICS.values())
HERE = pathlib.Path(__file__).resolve().parent
PEER_OF_OURS = {ours: peer for peer, ours in gpu_tables.OURS_OF_PEER.items()}
PLAIN_FLUSHED = ("plain", "cache flushed")


def worst(ours, theirs, batch, count):
    """(key, layer, ratio) of the `count` layers of a section with the least of cuDNN's time over ours, for its plain sections."""
    for key, layers in ours.items():
        if key[1:3] != PLAIN_FLUSHED or key[4] != batch:
            continue
        ratios = {layer: float(theirs[key][layer][0]["us"]) / float(rows[0]["us"]) for layer, rows in layers.items() if layer in theirs[key]}
        for layer in sorted(ratios, key=ratios.get)[:count]:
            yield key, layer, ratios[layer]


def counters(command, seconds):
    """Of the last launch of every kernel, by kernel: {column: number}."""
    profile = ["ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(METRICS)]
    try:
        text = subprocess.run(profile + command, capture_output=True, text=True, timeout=seconds, check=False).stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode()
    lines = [line for line in text.splitlines() if line.startswith('"')]
    found, launch = {}, {}
    for row in csv.DictReader(lines):
        name = row["Kernel Name"]
        if launch.get(name) != row["ID"]:
            launch[name], found[name] = row["ID"], {}
        found[name][METRICS[row["Metric Name"]]] = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
    if not found:
        print(f"! no counters from {' '.join(command)}: {text[-300:]}", file=sys.stderr)
    return found


def ours_command(bench, key, layer):
    kind, _, _, direction, batch = key
    return ["--launch-count", "12", bench, "--device", "cuda", "--rounds", "1", "--type", kind, "--direction", direction, "--batch",
            str(batch), "--only", layer, "--ways", "tf32#1" if kind == "tf32" else "picked"]


def peers_command(key, layer):
    kind, _, _, direction, batch = key
    return ["--profile-from-start", "off", sys.executable, str(HERE / "cudnn_layers.py"), "--profile", "--type", PEER_OF_OURS[kind],
            "--direction", direction, "--only", layer, str(batch)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("ours", type=pathlib.Path)
    parser.add_argument("theirs", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--worst", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="limit of one profile")
    args = parser.parse_args()
    out = csv.DictWriter(sys.stdout, COLUMNS)
    out.writeheader()
    _, ours = gpu_tables.sections(args.ours, False)
    _, theirs = gpu_tables.sections(args.theirs, True)
    for key, layer, ratio in worst(ours, theirs, args.batch, args.worst):
        for of, command in (("ours", ours_command(args.bench, key, layer)), ("cuDNN", peers_command(key, layer))):
            for kernel, values in counters(command, args.seconds).items():
                row = {"type": key[0], "direction": key[3], "batch": key[4], "layer": layer, "ratio": f"{ratio:.3f}", "of": of, "kernel": kernel[:100]}
                out.writerow(row | {column: f"{value:.2f}" for column, value in values.items()})
                sys.stdout.flush()


if __name__ == "__main__":
    main()
