#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/numbers.svg, three measured times beside their peers', from the tables of docs/measurements.

    bench/front_page.py            writes it
    bench/front_page.py --check    exit code 1 where it is not what the tables say
"""
import html
import pathlib
import sys

from page import read_table

PLACE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "numbers.svg"
WIDTH, BAR, LEFT, LONGEST = 720, 16, 190, 380


def first(rows, **asked):
    return next(row for row in rows if all(row[key] == value for key, value in asked.items()))


def pair(ours, theirs):
    return ours, theirs, theirs / ours


def cases():
    """(title, machine, peer, our milliseconds, the peer's, how many times as fast)"""
    cpu = first(read_table("cpu_networks.csv")[1], model="models/squeezenet11_fp32/model.onnx")
    peer_ms, peer = min((float(cpu[f"{name.lower()}_ms"]), name) for name in ("onnxruntime", "OpenVINO") if cpu[f"{name.lower()}_ms"])
    # Rounds in turn: the median of their ratios says more than the ratio of medians.
    yield "SqueezeNet 1.1, f32, batch 1", "AMD EPYC, 2 threads", peer, float(cpu["ours_ms"]), peer_ms, float(cpu["ratio"])
    gpu = first(read_table("networks.csv")[1], machine="NVIDIA H200", device="CUDA graph", model="resnet50", precision="f16", batch="256")
    yield "ResNet-50, f16, batch 256", gpu["machine"], "torch.compile", *pair(float(gpu["ms"]), float(gpu["peer_ms"]))
    steps = [row for row in read_table("train_steps_h200.csv")[1] if row["batch"] == "128"]
    ours = first(steps, who="tilefuse", form="")
    peer = min((row for row in steps if row["who"] == "torch"), key=lambda row: float(row["ms"]))
    yield "ResNet-50 training step, batch 128", "NVIDIA H200", f"PyTorch, {peer['type']} {peer['form']}", *pair(float(ours["ms"]), float(peer["ms"]))


def text(x, y, words, more=""):
    return f'<text x="{x}" y="{y}"{more}>{html.escape(words)}</text>\n'


def bar(y, who, ms, longest, colour):
    width = LONGEST * ms / longest
    return (text(LEFT - 8, y + BAR - 4, who, ' text-anchor="end"') + f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>\n'
            + text(round(LEFT + width + 6), y + BAR - 4, f"{ms:.2f} ms"))


def drawing():
    body, y = "", 20
    for title, machine, peer, ours, theirs, ratio in cases():
        body += text(8, y, f"{title} ({machine}): {ratio:.2f} times as fast", ' font-weight="bold"')
        body += bar(y + 8, "tilefuse", ours, max(ours, theirs), "#2a7") + bar(y + 12 + BAR, peer, theirs, max(ours, theirs), "#999")
        y += 3 * BAR + 24
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - 14}" font-family="sans-serif" font-size="13" fill="#555">\n'
            f"<title>Milliseconds, less is better</title>\n{body}</svg>\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if PLACE.read_text(encoding="utf-8") == drawing() else f"{PLACE} is not what bench/front_page.py draws")
    PLACE.write_text(drawing(), encoding="utf-8")
