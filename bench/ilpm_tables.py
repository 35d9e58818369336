#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites the section of docs/performance.md on ILP-M's own table.

    bench/ilpm_tables.py [--commit HASH]

Reads docs/measurements/ilpm_*.csv, which bench_ilpm measures: on a processor through OpenCL, and on a GPU by
scripts/gpu_bench.sh. What the section says of the claim is worked out from the figures.
"""
import argparse
import csv
import math
import pathlib

import page

ROOT = pathlib.Path(__file__).resolve().parent.parent
RIVALS = {"im2col": "im2col + GEMM", "direct": "direct, filter not cached", "direct_cached": "direct, filter cached"}
LAYERS = {"res2_3x3": "64 channels, 56x56", "res3_3x3": "128, 28x28", "res4_3x3": "256, 14x14", "res5_3x3": "512, 7x7"}
INTRO = """ILP-M (reference: its author's four ResNet layers, 3x3, stride 1, one image, float32) against what it was compared with:
all kernels are ours, without split reductions, and verified against the evaluator. Sizes are the usual ones of each name; the product
behind im2col is scheduled by search. On a processor the kernels are those of a GPU, work-items and all;
in machine code (`--device cpu`), where a block has no work-items to be lanes, ILP-M is scalar code of 0.5 to 8 GFLOP/s, SqueezeNet 1.8.
The claim is that lanes over channels beat lanes over pixels where one image leaves few warps. Counts are the simulator's: of one block, times
the blocks; bytes of global memory as work-items ask for them.
"""


def rows(path):
    lines = path.read_text().splitlines()
    return lines[0].lstrip("# "), list(csv.DictReader(line for line in lines[1:] if line[:1] != "#"))


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def verdict(times):
    """times: layer -> algorithm -> microseconds."""
    text = ""
    for rival, name in RIVALS.items():
        ratios = {layer: row[rival] / row["ilpm"] for layer, row in times.items() if rival in row and "ilpm" in row}
        if not ratios:
            continue
        won = [layer for layer, ratio in ratios.items() if ratio > 1]
        where = "on all four" if len(won) == len(LAYERS) else "on none" if not won else "on " + ", ".join(LAYERS[w] for w in won)
        text += f"- Against {name}: {geomean(list(ratios.values())):.2f}x in geometric mean, faster {where}.\n"
    return text


def table(results):
    text = ("| layer | algorithm | us | p90 - p10 | GFLOP/s | ILP-M is faster by | error / bound | global MB | local loads, M | barriers | "
            "multiply-adds, M |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
    ilpm = {row["layer"]: float(row["median_us"]) for row in results if row["algorithm"] == "ilpm"}
    for row in results:
        us = float(row["median_us"])
        faster = f"{us / ilpm[row['layer']]:.2f}" if row["algorithm"] != "ilpm" and row["layer"] in ilpm else ""
        text += (f"| {LAYERS[row['layer']]} | {RIVALS.get(row['algorithm'], 'ILP-M')} | {us:.1f} | "
                 f"{float(row['p90_us']) - float(row['p10_us']):.1f} | {float(row['gflops']):.0f} | {faster} | {row['error_share']} | "
                 f"{float(row['global_bytes']) / 1e6:.1f} | {float(row['local_loads']) / 1e6:.1f} | {row['barriers']} | "
                 f"{float(row['multiply_adds']) / 1e6:.1f} |\n")
    return text


def section(commit):
    text = INTRO
    for path in sorted((ROOT / "docs" / "measurements").glob("ilpm_*.csv")):
        machine, results = rows(path)
        times = {}
        for row in results:
            times.setdefault(row["layer"], {})[row["algorithm"]] = float(row["median_us"])
        text += f"\nOn {machine} ({path.stem.removeprefix('ilpm_')}), commit {commit}:\n\n{table(results)}\n{verdict(times)}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown")
    args = parser.parse_args()
    page.write_section("performance.md", "ilpm_tables.py", section(args.commit), "## ILP-M's own table\n\n")


if __name__ == "__main__":
    main()
