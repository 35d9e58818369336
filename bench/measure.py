#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures tilefuse on this machine and rewrites the section of docs/performance.md that belongs to it.

    bench/measure.py BUILD [--data ../shared/data] [--rounds 30]

The peers are optional: oneDNN (Debian's libdnnl-dev, found when the build is configured) for layers, onnxruntime in the
Python that runs this for networks. Run it on a quiet machine: medians, the 10th and the 90th percentile are recorded, ratios
come from interleaved rounds of one process, those of networks from alternating ones.
"""
import argparse
import csv
import importlib.util
import io
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import page

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", info).group(1)
    flags = re.search(r"flags\s*: (.*)", info).group(1).split()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2"
    return f"{name}, {len(os.sched_getaffinity(0))} threads, {vectors}"


def commit():
    return run("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD").strip()


def wall_seconds(command, env):
    start = time.perf_counter()
    run(*command, env=env)
    return time.perf_counter() - start


def network_rows(tilefuse, data, rounds):
    """SqueezeNet 1.1 on both devices: time per run, first start with empty caches, later starts."""
    model = str(data / "models/squeezenet11_fp32/model.onnx")
    image = str(data / "images/dog.jpg")
    for device in ("cpu", "opencl"):
        with tempfile.TemporaryDirectory() as folder:
            env = {"TILEFUSE_CACHE": f"{folder}/kernels.sqlite", "POCL_CACHE_DIR": f"{folder}/pocl"}
            os.mkdir(f"{folder}/pocl")
            start = [tilefuse, "run", model, "--image", image, "--preset", "imagenet-caffe", "--device", device]
            cold = wall_seconds(start, env)
            warm = statistics.median(wall_seconds(start, env) for _ in range(5))
            text = run(tilefuse, "bench", model, "--device", device, "--repeat", str(10 * rounds), env=env)
            times = re.search(r"median ([\d.]+) ms, p10 ([\d.]+), p90 ([\d.]+)", text).groups()
            yield (device, *times, f"{cold:.2f}", f"{warm:.3f}")


def layout_rows(tilefuse, data, rounds):
    """Networks with their activations in each layout, and which one the cost model takes for the whole network."""
    for name in ("models/squeezenet11_fp32/model", "models_light/light_resnet50", "models_light/light_densenet121"):
        row, chosen = [name.split("/")[1]], "?"
        with tempfile.TemporaryDirectory() as folder:
            for layout in ("nhwc", "nchw", "blocked", "auto"):
                text = run(tilefuse, "bench", str(data / f"{name}.onnx"), "--device", "cpu", "--activations", layout, "--repeat",
                           str(max(5, rounds // 2)), "--cache", f"{folder}/kernels.sqlite", "--no-records")
                if layout == "auto":
                    chosen = re.search(r"layout +(\w+)", text).group(1)
                    continue
                copies = re.search(r"(\d+) copies", text).group(1)
                row.append(f"{re.search(r'median ([0-9.]+) ms', text).group(1)} ({copies})")
        yield (*row, chosen)


def layer_rows(build, network, rounds):
    text = run(str(build / "bin/bench_conv"), "--layers", network, "--rounds", str(rounds))
    return list(csv.reader(io.StringIO(text)))


# GFLOP/s of other OpenCL libraries through PoCL on 3x3 layers (1x64x56x56 to 1x512x7x7), forward, by data and by weights:
# dlprimitives' gemm and CLBlast's convgemm (forward alone), on two threads of a Xeon whose peak is 305 GFLOP/s.
POCL_LAYERS = {
    "res2_3x3": {"dlprimitives": (11.4, 10.7, 5.8), "CLBlast": (1.4,)},
    "res3_3x3": {"dlprimitives": (18.8, 16.4, 16.6), "CLBlast": (1.5,)},
    "res4_3x3": {"dlprimitives": (15.0, 18.3, 21.6), "CLBlast": (1.4,)},
    "res5_3x3": {"dlprimitives": (8.2, 10.2, 14.4), "CLBlast": (1.6,)},
}
DIRECTIONS = ("forward", "data", "weights")


def direction_rows(build, *arguments):
    """Rows of bench_directions, its header first."""
    return list(csv.reader(io.StringIO(run(str(build / "bin/bench_directions"), *arguments))))


def direction_section(build, rounds):
    rounds = str(max(2, rounds // 6))
    text = "\nGradients of resnet50's convolutions, batch 8, channels last, against oneDNN in one process, rounds interleaved:\n\n"
    rows = direction_rows(build, "--directions", "data,weights", "--rounds", rounds)
    text += table(rows[0], rows[1:])
    rows = [direction_rows(build, "--devices", "cpu,opencl", "--batch", "1", "--no-peer", "--rounds", rounds, "--only", layer)
            for layer in POCL_LAYERS]
    return text + pocl_section(rows[0][0], [row for group in rows for row in group[1:] if row[0] != "geomean"])


def pocl_section(header, rows):
    """Our speed through PoCL as a share of our machine code's, and over that of other OpenCL libraries."""
    text = "\nOne image through PoCL beside our own machine code (cpu_over_opencl: its share of that speed):\n\n"
    drop = (header.index("onednn_us"), header.index("onednn_over_cpu"))
    kept = lambda row: [cell for i, cell in enumerate(row) if i not in drop]
    text += table(kept(header), [kept(row) for row in rows])
    text += ("\nThe same beside other OpenCL libraries through PoCL, GFLOP/s; theirs were measured once, on two threads of a Xeon "
             "with a peak of 305 GFLOP/s, so that the ratios hold two machines' difference too:\n\n")
    beside = []
    for row in rows:
        layer, direction, ours = row[0], row[1], float(row[header.index("opencl_gflops")])
        for name, figures in POCL_LAYERS[layer].items():
            number = DIRECTIONS.index(direction)
            if number < len(figures):
                beside.append([layer, direction, f"{ours:.1f}", name, f"{figures[number]:.1f}", f"{ours / figures[number]:.1f}"])
    return text + table(["layer", "direction", "ours", "library", "its", "ours / its"], beside)


def peer_network_section(build, data, rounds):
    sys.path.insert(0, str(ROOT / "bench"))
    import networks
    text = "\nWhole networks, batch 1, float32, against onnxruntime, alternating rounds; ratio: its time over ours:\n\n"
    return text + table(networks.HEADER, networks.rows(str(build / "bin/tilefuse"), data, max(3, rounds // 5), 12))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def section(build, data, rounds):
    text = f"Machine: {machine()}. Commit {commit()}. {time.strftime('%Y-%m-%d')}.\n\n"
    if data.is_dir():
        text += "SqueezeNet 1.1, batch 1, float32, on a photograph; milliseconds per run, seconds from the command to the answer:\n\n"
        text += table(["device", "median ms", "p10", "p90", "first start s", "later start s"],
                      network_rows(str(build / "bin/tilefuse"), data, rounds))
        text += "\nActivations in each layout on the CPU, milliseconds per run (copies between layouts), and the one chosen:\n\n"
        text += table(["model", "nhwc", "nchw", "blocked", "chosen"], layout_rows(str(build / "bin/tilefuse"), data, rounds))
    if (build / "bin/bench_conv").exists():
        for network in ("squeezenet", "resnet50", "mobilenet_depthwise", "first_layers"):
            rows = layer_rows(build, network, rounds)
            text += f"\nConvolution + bias + ReLU of {network}, batch 1, against oneDNN in one process, rounds interleaved, random data:\n\n"
            text += table(rows[0], rows[1:])
        text += direction_section(build, rounds)
    if data.is_dir() and importlib.util.find_spec("onnxruntime"):
        text += peer_network_section(build, data, rounds)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    page.write_section("performance.md", "measure.py", section(args.build.resolve(), args.data, args.rounds))


if __name__ == "__main__":
    main()
