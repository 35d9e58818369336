#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/measurements/float32.md: float32 convolutions and their gradients on a GPU, through CUDA and through OpenCL, beside
cuDNN and dlprimitives, layer by layer.

    bench/float_tables.py

Reads docs/measurements/layers_h200_*.csv and cudnn_h200.csv, which scripts/gpu_bench.sh measures in one call, and
dlprimitives_h200.txt, what dlprimitives' own benchmark printed on the same kind of device.
"""
import pathlib
import re

import gpu_tables
import page
import resnet50

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES = {"cuda": "CUDA", "opencl": "NVIDIA's OpenCL"}
FLUSHED, TYPE = "cache flushed", "f32"
RUNS = [("relu", "forward", 32), ("relu", "forward", 1), ("plain", "input_gradient", 32), ("plain", "filter_gradient", 32)]
DIRECTIONS = {"fwd": "forward", "bwd-data": "input_gradient", "bwd-filter": "filter_gradient"}
LINE = re.compile(r"dlprim (\S+) +N(\d+) C(\d+) (\d+) K(\d+) r(\d+): +([0-9.]+) ms .*algo=(\w+)")

INTRO = """Peer: {peer}, float32 without TF32, channels last or first, whichever is faster. Commit {commit}.

ResNet-50's 23 convolutions (with ReLU) and their gradients, as the cost model picks them, nothing tuned; both sides by the same
protocol: a memset of 256 MB before every launch, then the time between two events. Ratio: cuDNN's time over ours, above 1 is faster
than cuDNN.
"""
PEER_INTRO = """
Beside dlprimitives through the same OpenCL driver (its own benchmark, in another run on the same kind of device, its inputs in the
cache; the better of its algorithms, which is Winograd for most layers of 3x3, against exact sums here). Ratio: its time over ours.
"""


def us(row):
    return float(row["us"])


def summary(measured, cudnn):
    text = "\n| direction | batch | " + " | ".join(f"{name} | slowest" for name in DEVICES.values()) + " |\n"
    text += "|---|---|" + "---|---|" * len(DEVICES) + "\n"
    for epilogue, direction, batch in RUNS:
        key = (TYPE, epilogue, FLUSHED, direction, batch)
        text += f"| {direction} | {batch} |"
        for device in DEVICES:
            ratios = {layer: us(cudnn[key][layer][0]) / us(rows[0]) for layer, rows in measured[device].get(key, {}).items() if layer in cudnn[key]}
            worst = min(ratios, key=ratios.get, default="")
            text += f" {gpu_tables.geomean(list(ratios.values())):.2f} | {worst} {ratios[worst]:.2f} |" if ratios else " | |"
        text += "\n"
    return text


def table(key, measured, cudnn):
    text = f"\n### {TYPE}, {key[3]}, batch {key[4]}\n\n| layer | cuDNN us |"
    text += "".join(f" {name} | us (p10 – p90) | TFLOP/s | predicted | ratio |" for name in DEVICES.values()) + "\n"
    text += "|---|---|" + "---|" * 5 * len(DEVICES) + "\n"
    for layer, rows in cudnn[key].items():
        text += f"| {layer} | {us(rows[0]):.1f} |"
        for device in DEVICES:
            ours = measured[device].get(key, {}).get(layer)
            text += (f" {ours[0]['schedule']} | {us(ours[0]):.1f} ({float(ours[0]['p10_us']):.1f} – {float(ours[0]['p90_us']):.1f}) | "
                     f"{float(ours[0]['tflops']):.1f} | {float(ours[0]['predicted_us']):.1f} | {us(rows[0]) / us(ours[0]):.2f} |"
                     if ours else " | | | | |")
        text += "\n"
    return text


def dlprimitives():
    """(direction, batch, channels, size, outputs, taps) -> (microseconds, algorithm) of the faster algorithm."""
    best = {}
    for line in (ROOT / "docs" / "measurements" / "dlprimitives_h200.txt").read_text().splitlines():
        if match := LINE.match(line):
            direction, *shape, ms, algorithm = match.groups()
            key = (DIRECTIONS[direction], *map(int, shape))
            best[key] = min(best.get(key, (float("inf"), "")), (float(ms) * 1e3, algorithm))
    return best


def beside_dlprimitives(measured):
    """The table, and by direction and batch dlprimitives' times over ours."""
    text = PEER_INTRO + "\n| direction | batch | layer | dlprimitives us | algorithm | ours us | ratio |\n|---|---|---|---|---|---|---|\n"
    ratios = {}
    for (direction, batch, channels, size, outputs, taps), (peer, algorithm) in dlprimitives().items():
        layers = [name for name, *shape, stride, _ in resnet50.LAYERS if shape == [channels, size, outputs, taps] and stride == 1]
        rows = [found[layer][0] for key, found in measured.items() if key[0] == TYPE and key[3:] == (direction, batch)
                for layer in layers if layer in found]
        if rows:
            ratios.setdefault((direction, batch), []).append(peer / us(rows[0]))
            text += f"| {direction} | {batch} | {layers[0]} | {peer:.0f} | {algorithm} | {us(rows[0]):.1f} | {peer / us(rows[0]):.2f} |\n"
    means = ", ".join(f"{direction} at batch {batch} {gpu_tables.geomean(values):.2f}" for (direction, batch), values in ratios.items())
    return f"{text}\nGeometric means: {means}.\n", ratios


def times():
    """By device, (type, epilogue, form, direction, batch) -> rows by layer; cuDNN's machine, and the same of its."""
    measured = {device: gpu_tables.sections(gpu_tables.MEASUREMENTS / f"layers_h200_{device}.csv", False)[1] for device in DEVICES}
    peer, cudnn = gpu_tables.sections(gpu_tables.MEASUREMENTS / "cudnn_h200.csv", True)
    return measured, peer, cudnn


def section():
    measured, peer, cudnn = times()
    commit = page.commit_of(page.MEASUREMENTS / "layers_h200_cuda.csv")
    text = INTRO.format(peer=peer, commit=commit) + summary(measured, cudnn)
    text += beside_dlprimitives(measured["opencl"])[0]
    return text + "".join(table((TYPE, epilogue, FLUSHED, direction, batch), measured, cudnn) for epilogue, direction, batch in RUNS)


def main():
    page.write_section("measurements/float32.md", "float_tables.py", section(), "# Convolutions in float32 on an H200\n\n")


if __name__ == "__main__":
    main()
