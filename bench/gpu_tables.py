#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/measurements/tensor_cores.md: convolutions on tensor cores beside cuDNN, layer by layer.

    bench/gpu_tables.py

Reads tensor_cores_h200.csv, cudnn_h200.csv and counters_h200.csv of docs/measurements, which scripts/gpu_bench.sh measures in
one call; `# commit HASH` is put in front of them by hand.
"""
import collections
import csv
import math
import sys

import odd_layers
import page
import resnet50
from page import MEASUREMENTS, geomean

PEAK = {"f16": 989e12, "bf16": 989e12, "tf32": 494e12, "i8": 1979e12}  # of an H200, dense
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "i8": 1}
BANDWIDTH = 4.3e12
OURS_OF_PEER = {"float16": "f16", "bfloat16": "bf16", "tf32": "tf32", "float32": "f32", "int8": "i8"}
LAYERS = {layer[0]: layer[1:] for layer in resnet50.GENERAL + odd_layers.LAYERS}


def sections(path, is_peer):
    """The machine of the first section; and (type, epilogue, form, direction, batch) -> rows by layer."""
    found, machine, key, heading = collections.defaultdict(lambda: collections.defaultdict(list)), "", (), []
    for row in csv.reader(path.open()):
        if row[0].startswith("# commit"):
            continue
        elif row[0].startswith("#"):
            words = [word.strip() for word in row]
            machine = machine or ", ".join(words[:-3]).lstrip("# ")
            key = (OURS_OF_PEER[words[-3]] if is_peer else words[-3], words[-2], words[-1])
        elif row[0] == "layer":
            heading = row
        else:
            line = dict(zip(heading, row))
            if not is_peer and line["error"].startswith("WRONG"):
                sys.exit(f"{path}: {key}, {line['layer']}, {line['schedule']}: {line['error']}")
            if line["us"]:
                found[key + (line["direction"], int(line["batch"]))][line["layer"]].append(line)
    return machine, found


def floor_us(layer, kind, batch, epilogue):
    """Of its operations and bytes; pixels that a stride jumps over are not read, what is added is."""
    dims, channels, size, outputs, kernel, stride, dilation, padding, groups = LAYERS[layer]
    sizes = [odd_layers.FRONT] * (dims > 2) + [size] * min(dims, 2)
    outs = [(one + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for one in sizes]
    weights = outputs * channels // groups * kernel ** dims
    flops = 2 * batch * math.prod(outs) * weights
    touched = [min(one, out * min(stride, (kernel - 1) * dilation + 1)) for one, out in zip(sizes, outs)]
    elems = batch * (math.prod(touched) * channels + math.prod(outs) * outputs * (2 if epilogue == "full" else 1)) + weights
    elem = kind.split()[0]  # "i8 in blocks" of channels
    return max(flops / PEAK[elem], elems * BYTES[elem] / BANDWIDTH) * 1e6


def table(key, ours, theirs):
    kind, epilogue, batch = key[0], key[1], key[4]
    as_picked, as_best = ratios(ours, theirs)
    text = "\n| layer | schedule | us (p10 – p90) | TFLOP/s | cuDNN us (p10 – p90) | ratio | fastest timed | us | predicted | floor |\n"
    text += "|---|---|---|---|---|---|---|---|---|---|\n"
    for layer, rows in ours.items():
        picked, best = rows[0], min(rows, key=lambda row: float(row["us"]))
        peer = theirs.get(layer)
        ratio = f"{float(peer[0]['us']) / float(picked['us']):.2f}" if peer else ""
        other = f"{float(peer[0]['us']):.1f} ({float(peer[0]['p10_us']):.1f} – {float(peer[0]['p90_us']):.1f})" if peer else ""
        text += (f"| {layer} | {picked['schedule']} | {float(picked['us']):.1f} ({float(picked['p10_us']):.1f} – {float(picked['p90_us']):.1f}) | "
                 f"{float(picked['tflops']):.0f} | {other} | {ratio} | {best['schedule']} | {float(best['us']):.1f} | "
                 f"{float(picked['predicted_us']):.1f} | {floor_us(layer, kind, batch, epilogue):.1f} |\n")
    return geomean(as_picked), geomean(as_best), len(as_picked), text


def epilogue_table(ours):
    """What bias, residual and ReLU add to the plain kernels of batch 256, beside what their bytes add to the floor."""
    kind, form, direction, batch = "f16", "cache flushed", "forward", 256
    plain, full = (ours.get((kind, epilogue, form, direction, batch), {}) for epilogue in ("plain", "full"))
    text = ("\n### What bias, residual and ReLU cost: f16, forward, batch 256\n\nThe residual is as large as the results and read once more: "
            "where memory bounds a layer no kernel adds it for less than its floor grows by.\n\n"
            "| layer | plain us | full us | full / plain | floor, plain | floor, full | of the floors | full / its floor |\n" + "|---" * 8 + "|\n")
    times, floors = [], []
    for layer in (each for each in plain if each in full):
        us = [float(rows[layer][0]["us"]) for rows in (plain, full)]
        floor = [floor_us(layer, kind, batch, epilogue) for epilogue in ("plain", "full")]
        times.append(us[1] / us[0])
        floors.append(floor[1] / floor[0])
        text += (f"| {layer} | {us[0]:.1f} | {us[1]:.1f} | {times[-1]:.2f} | {floor[0]:.1f} | {floor[1]:.1f} | {floors[-1]:.2f} | "
                 f"{us[1] / floor[1]:.2f} |\n")
    return text + f"| geomean |  |  | {geomean(times):.2f} |  |  | {geomean(floors):.2f} |  |\n"


def counters_table():
    """What bench/gpu_counters.py read, a row a kernel."""
    rows = page.read_table("counters_h200.csv")[1]
    text = ("\n### The worst ratios by counters\n\nThe layers that fare worst beside cuDNN at batch 256, our kernels and cuDNN's "
            "under ncu (`bench/gpu_counters.py`): bytes of device memory, and the share of their peaks at which device memory, second-level "
            "cache and tensor cores worked. Times are ncu's, which flushes and sets up every launch for itself.\n\n"
            "| section | layer | ratio | of | kernel | us | MB read | MB written | memory % | cache % | tensor % | GHz |\n|" + "---|" * 12 + "\n")
    for row in rows:
        kernel = row["kernel"] if row["of"] == "ours" else row["kernel"].split("(")[0][:60]
        text += f"| {row['type']} {row['direction']} {row['batch']} | {row['layer']} | {float(row['ratio']):.2f} | {row['of']} | {kernel} | "
        text += " | ".join(row[column] for column in ("us", "read_mb", "written_mb", "memory_share", "cache_share", "tensor_share", "ghz")) + " |\n"
    return text


def ratios(layers, peers):
    """cuDNN's time over that of the first schedule and of the fastest, of the layers that both have."""
    both = [(rows, peers[layer]) for layer, rows in layers.items() if layer in peers]
    return tuple([float(peer[0]["us"]) / pick(float(row["us"]) for row in rows) for rows, peer in both]
                 for pick in (next, min))


def section():
    commit = page.commit_of(MEASUREMENTS / "tensor_cores_h200.csv")
    machine, ours = sections(MEASUREMENTS / "tensor_cores_h200.csv", False)
    peer, cudnn = sections(MEASUREMENTS / "cudnn_h200.csv", True)
    text = (f"Machine: {machine}; peer: {peer}, channels last. Commit {commit}.\n\nResNet-50's convolutions, random data, both sides "
            "by the same protocol: a memset of 256 MB before every launch, then the time between two events (`flushed`), or 50 launches in "
            "one graph (`graph`). Ratio: cuDNN's time over ours, above 1 is faster than cuDNN. The first schedule is what search picked "
            "without measuring; the floor is that of 4.3 TB/s and the peak of the tensor cores.\n\n"
            "| type | direction | batch | epilogue | form | layers | ratio as picked | ratio of the fastest timed |\n|---|---|---|---|---|---|---|---|\n")
    tables = ""
    for key, layers in ours.items():
        as_picked, as_best, count, body = table(key, layers, cudnn.get(key, {}))
        kind, epilogue, form, direction, batch = key
        text += f"| {kind} | {direction} | {batch} | {epilogue} | {form} | {count or len(layers)} | {as_picked:.3f} | {as_best:.3f} |\n"
        tables += f"\n### {kind}, {direction}, batch {batch}, {epilogue}, {form}\n{body}"
    return text.replace("nan", "") + tables + epilogue_table(ours) + counters_table()


def main():
    page.write_section("measurements/tensor_cores.md", "gpu_tables.py", section(), "# Convolutions on tensor cores\n\n")


if __name__ == "__main__":
    main()
