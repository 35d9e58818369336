#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures tilefuse on this machine and rewrites the section of docs/performance.md that belongs to it.

    bench/measure.py BUILD [--data ../shared/data] [--rounds 30]

Needs a build with -DTILEFUSE_BENCH=ON for the comparison with oneDNN. Run it on a quiet machine: medians, the 10th and the
90th percentile are recorded, ratios come from interleaved rounds of one process.
"""
import argparse
import csv
import io
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

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


def layer_rows(build, network, rounds):
    text = run(str(build / "bin/bench_conv"), "--layers", network, "--rounds", str(rounds))
    return list(csv.reader(io.StringIO(text)))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def section(build, data, rounds):
    text = f"Machine: {machine()}. Commit {commit()}. {time.strftime('%Y-%m-%d')}.\n\n"
    if data.is_dir():
        text += "SqueezeNet 1.1, batch 1, float32, on a photograph; milliseconds per run, seconds from the command to the answer:\n\n"
        text += table(["device", "median ms", "p10", "p90", "first start s", "later start s"],
                      network_rows(str(build / "bin/tilefuse"), data, rounds))
    if (build / "bin/bench_conv").exists():
        for network in ("squeezenet", "resnet50", "mobilenet_depthwise", "first_layers"):
            rows = layer_rows(build, network, rounds)
            text += f"\nConvolution + bias + ReLU of {network}, batch 1, against oneDNN in one process, rounds interleaved, random data:\n\n"
            text += table(rows[0], rows[1:])
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    path = ROOT / "docs/performance.md"
    begin, end = "<!-- measured by bench/measure.py -->\n", "<!-- end -->\n"
    page = path.read_text() if path.exists() else "# Measured performance\n\n" + begin + end
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    path.write_text(before + begin + section(args.build.resolve(), args.data, args.rounds) + end + after)


if __name__ == "__main__":
    main()
