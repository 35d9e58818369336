#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CIFAR ResNet-20 trained by two ranks of one thread each under mpirun, beside one such rank alone, and beside two that know
nothing of each other: what these lose is the machine's share (caches, memory, clock), the rest the exchange's.

    bench/train_ranks.py TILEFUSE DATA [--batch 64] [--rounds 5] [--steps 12]

DATA is the folder of models/ and datasets/. A round runs each form once, in turns. CSV: form, steps measured, pictures per second
at the median step and at the quickest tenth of all rounds, both over those of one rank, and the median of what a step waits for the
exchange, which counts the wait for the other rank; the first two steps of a run do not count. Needs two cores with nothing else to
do, or many rounds of which the quickest tenth counts.
"""
import argparse
import csv
import os
import pathlib
import shutil
import subprocess
import tempfile

RECIPE = """
model = "{data}/models/cifar_resnet20/model.onnx"
[data]
train = "cifar:{data}/datasets/cifar10_subset/train_10000.bin.gz"
mean = [0.4914, 0.4822, 0.4465]
std = [0.2470, 0.2435, 0.2616]
threads = 1
[augment]
pad_crop = 4
flip = true
[steps]
batch = {batch}
lanes = {lanes}
limit = {steps}
[optimizer]
rate = 0.01
[keep]
log_steps = 1
checkpoints = 1
"""
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.environment = dict(os.environ, TILEFUSE_CACHE=str(folder / "kernels.sqlite"))

    def command(self, name, lanes):
        recipe = self.folder / f"{name}.toml"
        recipe.write_text(RECIPE.format(data=pathlib.Path(self.arguments.data).resolve(), batch=self.arguments.batch, lanes=lanes,
                                        steps=self.arguments.steps))
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return [self.arguments.tilefuse, "train", str(recipe), "-o", str(self.folder / name), "--device", "cpu", "--threads", "1"]

    def steps(self, name):
        """Of each step of a run its seconds, and those of its exchange."""
        with open(self.folder / name / "log.csv", encoding="utf-8") as log:
            return [(float(row["step_ms"]) * 1e-3, float(row["exchange_wait_ms"]) * 1e-3) for row in csv.DictReader(log)][2:]

    def run(self, *commands):
        running = [subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL) for command in commands]
        if any([each.wait() for each in running]):
            raise SystemExit(f"{' '.join(commands[0])} failed")

    def round(self, steps):
        self.run(self.command("one", 1))
        steps["one"] += self.steps("one")
        self.run(self.command("first", 1), self.command("second", 1))
        steps["apart"] += self.steps("first") + self.steps("second")
        self.run(MPIRUN + self.command("mpirun", 2))
        steps["mpirun"] += self.steps("mpirun")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilefuse")
    parser.add_argument("data")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    steps = {"one": [], "apart": [], "mpirun": []}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, pathlib.Path(folder))
        bench.run(bench.command("warm", 1))  # compiles
        for _ in range(arguments.rounds):
            bench.round(steps)
    rates = {}
    for name, each in steps.items():
        pictures = arguments.batch * (1 if name == "one" else 2)
        seconds = sorted(step[0] for step in each)
        waits = sorted(step[1] for step in each)
        rates[name] = [pictures / seconds[len(each) // 2], pictures / seconds[len(each) // 10], waits[len(each) // 2] * 1e3]
    print("form,steps,median_rate,best_rate,median_ratio,best_ratio,exchange_wait_ms")
    for name, (median, best, wait) in rates.items():
        ratios = f"{median / rates['one'][0]:.2f},{best / rates['one'][1]:.2f}"
        print(f"{name},{len(steps[name])},{median:.1f},{best:.1f},{ratios},{wait:.2f}")


if __name__ == "__main__":
    main()
