#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/measurements/ilpm.md: ILP-M's own table.

    bench/ilpm_tables.py

Reads docs/measurements/ilpm_*.csv, which bench_ilpm measures: on a processor through OpenCL, and on a GPU by
scripts/gpu_bench.sh. What the section says of the claim is worked out from the figures.
"""
import page
from page import geomean

RIVALS = {"im2col": "im2col + GEMM", "direct": "direct, filter not cached", "direct_cached": "direct, filter cached"}
LAYERS = {"res2_3x3": "64 channels, 56x56", "res3_3x3": "128, 28x28", "res4_3x3": "256, 14x14", "res5_3x3": "512, 7x7"}
INTRO = """ILP-M (reference: its author's four ResNet layers, 3x3, stride 1, one image, float32) against what it was compared with:
all kernels are ours, without split reductions, and verified against the evaluator. Sizes are the usual ones of each name; the product
behind im2col is scheduled by search. On a processor the kernels are those of a GPU, work-items and all;
in machine code (`--device cpu`), where a block has no work-items to be lanes, ILP-M is scalar code of 0.5 to 8 GFLOP/s, SqueezeNet 1.8.
The claim is that lanes over channels beat lanes over pixels where one image leaves few warps. Counts are the simulator's: of one block, times
the blocks; bytes of global memory as work-items ask for them.
"""


def tables():
    """(name, machine, commit, rows) of each device."""
    for path in sorted(page.MEASUREMENTS.glob("ilpm_*.csv")):
        machine = next(note for note in page.notes_of(path) if not note.startswith("commit"))
        yield path.stem.removeprefix("ilpm_"), machine, page.commit_of(path), page.read_table(path.name)[1]


def ratios_of(results, rival):
    """By layer, how many times ILP-M is faster than a rival."""
    times = {(row["layer"], row["algorithm"]): float(row["median_us"]) for row in results}
    return {layer: times[layer, rival] / times[layer, "ilpm"] for layer in LAYERS if (layer, rival) in times and (layer, "ilpm") in times}


def verdict(results):
    text = ""
    for rival, name in RIVALS.items():
        ratios = ratios_of(results, rival)
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


def section():
    text = INTRO
    for name, machine, commit, results in tables():
        text += f"\nOn {machine} ({name}), commit {commit}:\n\n{table(results)}\n{verdict(results)}"
    return text


def main():
    page.write_section("measurements/ilpm.md", "ilpm_tables.py", section(), "# ILP-M's own table\n\n")


if __name__ == "__main__":
    main()
