#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures tilefuse on this machine: writes docs/measurements/cpu_*.csv, then docs/performance.md (bench/performance.py).

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
import performance

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


POCL_LAYERS = ("res2_3x3", "res3_3x3", "res4_3x3", "res5_3x3")


def direction_rows(build, *arguments):
    """Rows of bench_directions, its header first."""
    return list(csv.reader(io.StringIO(run(str(build / "bin/bench_directions"), *arguments))))


def measure_layers(build, rounds, note):
    tables = {network: layer_rows(build, network, rounds) for network in ("squeezenet", "resnet50", "mobilenet_depthwise", "first_layers")}
    header = ["network", *next(iter(tables.values()))[0]]
    page.write_table("cpu_layers.csv", f"{note}; batch 1", header, ([network, *row] for network, rows in tables.items() for row in rows[1:]))


def measure_directions(build, rounds, note):
    rounds = str(max(2, rounds // 6))
    rows = direction_rows(build, "--directions", "data,weights", "--rounds", rounds)
    page.write_table("cpu_gradients.csv", f"{note}; batch 8, channels last", rows[0], rows[1:])
    tables = [direction_rows(build, "--devices", "cpu,opencl", "--batch", "1", "--no-peer", "--rounds", rounds, "--only", layer)
              for layer in POCL_LAYERS]
    header = tables[0][0]
    kept = [i for i, name in enumerate(header) if name not in ("onednn_us", "onednn_over_cpu")]
    page.write_table("cpu_pocl.csv", f"{note}; batch 1", [header[i] for i in kept],
                     ([row[i] for i in kept] for rows in tables for row in rows[1:] if row[0] != "geomean"))


def measure_peer_networks(build, data, rounds, note):
    sys.path.insert(0, str(ROOT / "bench"))
    import networks
    page.write_table("cpu_networks.csv", f"{note}; batch 1", networks.HEADER,
                     networks.rows(str(build / "bin/tilefuse"), data, max(3, rounds // 5), 12))


def measure(build, data, rounds):
    note = f"{machine()}, commit {commit()}, {time.strftime('%Y-%m-%d')}"
    tilefuse = str(build / "bin/tilefuse")
    if data.is_dir():
        page.write_table("cpu_squeezenet.csv", note, ("device", "median_ms", "p10_ms", "p90_ms", "first_start_s", "later_start_s"),
                         network_rows(tilefuse, data, rounds))
        page.write_table("cpu_layouts.csv", f"{note}; ms per run (copies between layouts)", ("model", "nhwc", "nchw", "blocked", "chosen"),
                         layout_rows(tilefuse, data, rounds))
    if (build / "bin/bench_conv").exists():
        measure_layers(build, rounds, note)
        measure_directions(build, rounds, note)
    if data.is_dir() and importlib.util.find_spec("onnxruntime"):
        measure_peer_networks(build, data, rounds, note)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    measure(args.build.resolve(), args.data, args.rounds)
    performance.main()


if __name__ == "__main__":
    main()
