#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks in each precision on one device: time in interleaved rounds, and how many pictures of CIFAR-10 ResNet-20 has right.

    bench/precisions.py [--tool build/bin/tilefuse] [--data ../shared/data] [--device cpu] [--rounds 5] [--pictures 500]

Writes docs/measurements/precision_DEVICE.csv. A ratio is the time in f32 over the time in this precision, both medians of the rounds'
medians. Needs NumPy.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRECISIONS = ("f32", "f16", "bf16", "int8")
NETWORKS = (("squeezenet11_fp32", ()), ("yolox_nano", ()), ("deeplabv3_mnv2", ()), ("cifar_resnet20", ("--batch", "8")))
CIFAR_MEAN, CIFAR_STD = (.485, .456, .406), (.229, .224, .225)


def tool(args, *words):
    done = subprocess.run([args.tool, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    return done.stdout


def option(precision):
    return () if precision == "f32" else ("--precision", precision)


def calibration(folder, data, name):
    """Files that int8 takes its scales from: the network's own stored input, or pictures of the set."""
    return folder / "calibrate.npy" if name == "cifar_resnet20" else data / "models" / name / "test_data_set_0" / "input_0.pb"


def seconds(args, folder, name, more, precision):
    words = ["bench", args.data / "models" / name / "model.onnx", "--device", args.device, "--repeat", 20, "--json", "--no-records",
             "--cache", folder / "cache.sqlite", *more, *option(precision)]
    if precision == "int8":
        words += ["--calibrate", calibration(folder, args.data, name)]
    return json.loads(tool(args, *words))["median_seconds"]


def pictures(args, folder):
    """Pictures of the test set as the network takes them, to be judged and for int8's scales; and labels."""
    raw = np.frombuffer(gzip.open(args.data / "datasets" / "cifar10_subset" / "test_2000.bin.gz").read(), np.uint8).reshape(-1, 3073)
    x = raw[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255
    x = (x - np.array(CIFAR_MEAN, np.float32)[:, None, None]) / np.array(CIFAR_STD, np.float32)[:, None, None]
    np.save(folder / "judged.npy", x[:args.pictures])
    np.save(folder / "others.npy", x[args.pictures:2 * args.pictures])
    np.save(folder / "calibrate.npy", x[-8:])
    return raw[:args.pictures, 0]


def right(args, folder, labels, precision):
    words = ["run", args.data / "models" / "cifar_resnet20" / "model.onnx", "--device", args.device, "--input", folder / "judged.npy",
             "--output", folder / "logits.npy", *option(precision)]
    if precision == "int8":
        words += ["--calibrate", folder / "others.npy"]
    tool(args, *words)
    return float((np.load(folder / "logits.npy").argmax(1) == labels).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=ROOT / "build" / "bin" / "tilefuse")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pictures", type=int, default=500)
    args = parser.parse_args()
    name = next(row["name"] for row in json.loads(tool(args, "devices", "--json"))["devices"] if row["device"] == args.device)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        labels = pictures(args, folder)
        times = {}
        for _ in range(args.rounds):
            for network, more in NETWORKS:
                for precision in PRECISIONS:
                    times.setdefault((network, precision), []).append(seconds(args, folder, network, more, precision))
        share = {precision: right(args, folder, labels, precision) for precision in PRECISIONS}
    median = {key: statistics.median(values) * 1e3 for key, values in times.items()}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    lines = [f"# {name}, commit {commit}; medians of {args.rounds} interleaved rounds; top-1 of {args.pictures} pictures of CIFAR-10"]
    lines += ["model,precision,ms,least_ms,times_f32,top1"]
    for (network, precision), value in median.items():
        top1 = f"{share[precision]:.4f}" if network == "cifar_resnet20" else ""
        lines.append(f"{network},{precision},{value:.3f},{min(times[network, precision]) * 1e3:.3f},{median[network, 'f32'] / value:.2f},{top1}")
    path = ROOT / "docs" / "measurements" / f"precision_{args.device.split(':')[0]}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
