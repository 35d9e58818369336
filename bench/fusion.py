#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels, bytes and planning of networks at every level of fusion, and their times side by side: writes
docs/measurements/fusion_*.csv and fused_cpu.csv, then docs/performance.md (bench/performance.py).

    bench/fusion.py BUILD [--data ../shared/data] [--rounds 5] [--device cpu] [--plan-only]

Rounds are interleaved: pointwise, all, pointwise, …; the ratio is that of the medians.
"""
import argparse
import csv
import io
import pathlib
import re
import statistics

import page
import performance
from measure import ROOT, commit, machine, run

NETWORKS = {
    "squeezenet 1.1": "models/squeezenet11_fp32/model.onnx",
    "resnet50": "models_light/light_resnet50.onnx",
    "densenet121": "models_light/light_densenet121.onnx",
    "deeplabv3_mnv2": "models/deeplabv3_mnv2/model.onnx",
    "yolox_nano": "models/yolox_nano/model.onnx",
    "shufflenet": "models_light/light_shufflenet.onnx",
}


def levels(tilefuse, model, device):
    """Rows of `tilefuse fusion` by level."""
    return {row["fuse"]: row for row in csv.DictReader(
        io.StringIO(run(tilefuse, "fusion", model, "--device", device, "--csv", "-")))}


def plan_rows(tilefuse, data, device):
    for name, path in NETWORKS.items():
        by = levels(tilefuse, str(data / path), device)
        yield (name, *(by[level]["kernels"] for level in ("none", "pointwise", "all")),
               *(by[level]["MB moved"] for level in ("none", "pointwise", "all")),
               by["all"]["plan ms"], by["all"]["price ms"], by["all"]["isl calls"])


# Rows of devices/ and precisions that `bench_planning` chooses all kernels for.
CHOSEN_FOR = (("cpu_avx512", "f32"), ("cuda_sm90", "f32"), ("cuda_sm90", "f16"))


def choice_rows(bench_planning, data):
    """Seconds until all kernels of a network are chosen, by device, precision and level, without a cache."""
    for name, path in NETWORKS.items():
        yield (name, *(row["choose_s"] for target, precision in CHOSEN_FOR for row in csv.DictReader(io.StringIO(run(
            bench_planning, str(data / path), "--target", target, "--precision", precision, "--fuse", "pointwise",
            "--fuse", "all")))))


def median_ms(tilefuse, model, device, level):
    text = run(tilefuse, "bench", model, "--device", device, "--fuse", level, "--repeat", "30", "--no-records")
    return float(re.search(r"median ([\d.]+) ms", text).group(1))


def time_rows(tilefuse, data, device, rounds):
    for name, path in NETWORKS.items():
        model = str(data / path)
        times = {"pointwise": [], "all": []}
        for _ in range(rounds):
            for level, found in times.items():
                found.append(median_ms(tilefuse, model, device, level))
        apart, fused = (statistics.median(times[level]) for level in ("pointwise", "all"))
        yield (name, f"{apart:.3f}", f"{fused:.3f}", f"{apart / fused:.3f}")


def block_rows(bench_fused, device):
    """Chains of layers as one kernel against the same layers one by one."""
    for row in csv.DictReader(io.StringIO(run(bench_fused, "--device", device))):
        most = f"{float(row['layers_us']) / float(row['least_us']):.2f}" if row["least_us"] else ""
        yield row["block"], row["layers_us"], row["fused_us"], row["ratio"], most


def measure(tilefuse, data, args):
    note = f"{machine()}, commit {commit()}"
    columns = [f"{what}_{level}" for what in ("kernels", "mb") for level in ("none", "pointwise", "all")]
    page.write_table("fusion_kernels.csv", f"{note}; batch 1", ("network", *columns, "plan_ms", "price_ms", "isl_calls"),
                     plan_rows(tilefuse, data, args.device))
    page.write_table("fusion_choose.csv", f"{note}; seconds", ("network", *(f"{target} {precision} {level}" for target, precision in CHOSEN_FOR
                     for level in ("pointwise", "all"))), choice_rows(str(args.build / "bin/bench_planning"), data))
    if args.plan_only:
        return
    page.write_table("fusion_networks.csv", f"{note}; batch 1", ("network", "pointwise_ms", "all_ms", "ratio"),
                     time_rows(tilefuse, data, args.device, args.rounds))
    page.write_table("fused_cpu.csv", note, ("block", "layers_us", "fused_us", "ratio", "at_most"),
                     block_rows(str(args.build / "bin/bench_fused"), args.device))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plan-only", action="store_true")
    args = parser.parse_args()
    measure(str(args.build / "bin/tilefuse"), args.data, args)
    performance.main()


if __name__ == "__main__":
    main()
