#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites the tables of docs/performance.md that come from a GPU: half-precision layers beside cuDNN.

    bench/gpu_tables.py [--commit HASH]

Reads docs/measurements/layers_h200_cuda_f16.csv and layers_h200_cudnn_f16.csv, which scripts/gpu_bench.sh measures.
"""
import argparse
import csv
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- measured by bench/gpu_tables.py -->\n", "<!-- end of bench/gpu_tables.py -->\n"


def rows(name):
    """The machine, and the table: runs at several batches may stand one after another, each with its heading."""
    lines = (ROOT / "docs" / "measurements" / name).read_text().splitlines()
    machine, heading = lines[0].lstrip("# "), lines[1]
    return machine, list(csv.DictReader([heading] + [line for line in lines[2:] if line != heading and line[:1] != "#"]))


def fastest(results):
    """By layer and batch: what search picked, and the fastest of all schedules timed."""
    picked, best = {}, {}
    for row in results:
        if not row["us"]:
            continue
        key = (row["layer"], int(row["batch"]))
        if key not in picked:  # the first is the search's choice, or the model's first where nothing was picked
            picked[key] = row
        if key not in best or float(row["us"]) < float(best[key]["us"]):
            best[key] = row
    return picked, best


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def section(commit):
    machine, ours = rows("layers_h200_cuda_f16.csv")
    peer, cudnn = rows("layers_h200_cudnn_f16.csv")
    picked, best = fastest(ours)
    theirs = {(row["layer"], int(row["batch"])): float(row["best_us"]) for row in cudnn}
    text = (f"Machine: {machine}; peer: {peer}, channels first or last, whichever is faster, ten launches in one graph. Commit {commit}.\n\n"
            "ResNet-50's convolutions + ReLU in half precision, accumulated in float, random data; ours is the event time of one "
            "launch. Ratio: cuDNN's time over ours, above 1 is faster than cuDNN.\n")
    for batch in sorted({batch for _, batch in best}):
        keys = [key for key in best if key[1] == batch and key in theirs]
        text += (f"\nBatch {batch}: ratio {geomean([theirs[k] / float(picked[k]['us']) for k in keys]):.3f} as picked, "
                 f"{geomean([theirs[k] / float(best[k]['us']) for k in keys]):.3f} for the fastest schedule timed "
                 "(geometric means).\n\n| layer | picked | us | p90 - p10 | TFLOP/s | cuDNN us | ratio | fastest timed | us |\n"
                 "|---|---|---|---|---|---|---|---|---|\n")
        for key in keys:
            a, b = picked[key], best[key]
            text += (f"| {key[0]} | {a['algorithm'].split(':', 1)[-1]} | {a['us']} | {float(a['p90_us']) - float(a['p10_us']):.1f} | "
                     f"{float(a['gflops']) / 1e3:.0f} | {theirs[key]:.1f} | {theirs[key] / float(a['us']):.2f} | "
                     f"{b['algorithm'].split(':', 1)[-1]} | {b['us']} |\n")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown")
    args = parser.parse_args()
    path = ROOT / "docs" / "performance.md"
    page = path.read_text()
    if BEGIN not in page:
        page += "\n## Tensor cores\n\n" + BEGIN + END
    before, rest = page.split(BEGIN)
    path.write_text(before + BEGIN + section(args.commit) + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
