#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps on a CPU beside PyTorch's: CIFAR ResNet-20 at batch 128 and ResNet-50 at batch 8, float32, SGD with momentum.

    bench/train_cpu.py TILEFUSE OUT [--rounds 3] [--steps 12] [--threads 2] [--only resnet20,resnet50] [--devices cpu,opencl:pocl]
                       [--python PYTHON]
    bench/train_cpu.py --torch NETWORK BATCH STEPS THREADS LAST      (what it runs with PYTHON: one process of PyTorch)

TILEFUSE is the program; PYTHON has PyTorch and torchvision. Each round runs tilefuse on each device and PyTorch,
eager with contiguous and with channels-last tensors, one behind the other; taskset holds all to the same cores. Random data. Needs NumPy; reads
../shared/data/models/cifar_resnet20 of TILEFUSE_DATA. Written into OUT: steps.csv with network, batch, who, round and the median,
10th and 90th percentile of the steps behind the first four, in milliseconds.
"""
import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path(os.environ.get("TILEFUSE_DATA", HERE.parent.parent / "shared" / "data"))
WARM = 4
NETWORKS = {"resnet20": (128, 32, 10), "resnet50": (8, 224, 1000)}  # batch, side of a picture, classes
RECIPE = """
model = "{model}"
[data]
train = "npy:{images},{labels}"
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]
threads = 1
[steps]
batch = {batch}
epochs = 1000
limit = {steps}
[optimizer]
rate = 0.01
decay = 1e-4
[keep]
log_steps = 1
checkpoints = 1
"""


def spread(times):
    times = sorted(times)
    return statistics.median(times), times[len(times) // 10], times[len(times) * 9 // 10]


def time_torch(name, batch, steps, threads, last):
    import torch
    import train_torch
    torch.set_num_threads(threads)
    form = torch.channels_last if last else torch.contiguous_format
    model, side, classes = train_torch.network(name)
    model = model.to(memory_format=form)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    images = torch.randn(batch, 3, side, side).to(memory_format=form)
    labels = torch.randint(0, classes, (batch,))
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
    print(torch.__version__, *times[WARM:])


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.out = pathlib.Path(arguments.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), TILEFUSE_CACHE=str(self.out / "kernels.sqlite"))

    def model(self, name):
        if name == "resnet20":
            return DATA / "models" / "cifar_resnet20" / "model.onnx"
        path = self.out / "resnet50.onnx"
        if not path.exists():
            subprocess.run([sys.executable, str(HERE / "resnet50_model.py"), str(path)], check=True)
        return path

    def recipe(self, name):
        batch, side, classes = NETWORKS[name]
        source = np.random.default_rng(1)
        images, labels = self.out / f"{name}_images.npy", self.out / f"{name}_labels.npy"
        np.save(images, source.integers(0, 256, (4 * batch, side, side, 3), np.uint8))
        np.save(labels, source.integers(0, classes, 4 * batch).astype(np.int64))
        path = self.out / f"{name}.toml"
        path.write_text(RECIPE.format(model=self.model(name), images=images, labels=labels, batch=batch, steps=self.arguments.steps))
        return path

    def run(self, command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.stdout

    def tilefuse(self, name, device):
        folder = self.out / f"run_{name}"
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        self.run([self.arguments.tilefuse, "train", str(self.recipe(name)), "-o", str(folder), "--device", device])
        rows = list(csv.DictReader(open(folder / "log.csv", encoding="utf-8")))
        return [float(row["step_ms"]) for row in rows if row.get("step_ms")][WARM:]

    def torch(self, name, last):
        text = self.run([self.arguments.python, __file__, "--torch", name, str(NETWORKS[name][0]), str(self.arguments.steps),
                         str(self.arguments.threads), str(int(last))])
        return [float(word) for word in text.split()[1:]]

    def measure(self):
        devices = self.arguments.devices.split(",")
        sides = {f"tilefuse {device}": lambda n, device=device: self.tilefuse(n, device) for device in devices}
        sides |= {"torch": lambda n: self.torch(n, False), "torch channels last": lambda n: self.torch(n, True)}
        with open(self.out / "steps.csv", "w", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["network", "batch", "who", "round", "ms", "p10_ms", "p90_ms"])
            for name in self.arguments.only.split(","):
                ratios = {device: [] for device in devices}
                for round_number in range(self.arguments.rounds):
                    found = {who: spread(run(name)) for who, run in sides.items()}
                    for who, times in found.items():
                        rows.writerow([name, NETWORKS[name][0], who, round_number, *(f"{ms:.2f}" for ms in times)])
                    file.flush()
                    best = min(ms[0] for who, ms in found.items() if who.startswith("torch"))
                    for device in devices:
                        ratios[device].append(best / found[f"tilefuse {device}"][0])
                for device, of in ratios.items():
                    print(f"{name}: PyTorch's better over tilefuse on {device} {statistics.median(of):.2f} ({min(of):.2f} to {max(of):.2f})")


def main():
    if sys.argv[1:2] == ["--torch"]:
        time_torch(sys.argv[2], *map(int, sys.argv[3:]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilefuse")
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--python", default=sys.executable)
    Bench(parser.parse_args()).measure()


if __name__ == "__main__":
    main()
