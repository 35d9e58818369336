#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of whole networks on one GPU beside PyTorch's forms, in turn in one call.

    bench/training_networks.py TILEFUSE OUT CASE … [--old TILEFUSE] [--rounds 3] [--seconds 60] [--device cuda]

CASE is NETWORK:BATCH:TYPE[:FORM,…], e.g. mobilenet_v2:128:f16:eager,compile: NETWORK and FORM as bench/train_torch.py has them, TYPE
f16, bf16, tf32 or f32. --old is an earlier tilefuse, run in turn. The network is exported by torch.onnx with its BatchNormalizations; pictures
are random bytes in memory. Written into OUT: training.csv with network, batch, type, who, round and the median, 10th and 90th
percentile of steps in milliseconds, host to host for tilefuse (the copy of its pictures included), on the device for PyTorch; MB as
either says. A process that takes longer than SECONDS is ended and named.
"""
import argparse
import csv
import os
import pathlib
import re
import statistics
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
WARM, STEPS = 10, 40
TORCH_TYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "tf32", "f32": "float32"}
RECIPE = """
model = "{model}"
precision = "{precision}"
[data]
train = "npy:{images},{labels}"
[steps]
batch = {batch}
epochs = 1000
limit = {steps}
[optimizer]
kind = "sgd"
momentum = 0.9
rate = 0.01
decay = 1e-4
[keep]
log_steps = 1
"""


def export(name, path):
    """Writes the network with open BatchNormalizations; in a process of its own, which needs no GPU."""
    import torch
    import train_torch
    model, side, _ = train_torch.network(name)
    torch.onnx.export(model.eval(), (torch.randn(1, 3, side, side),), path, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["image"], output_names=["logits"], dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
                      **({"dynamo": False} if int(torch.__version__.split(".")[0]) > 1 else {}))


class Case:
    def __init__(self, text, arguments):
        self.name, batch, self.type, forms = (text + ":").split(":")[:4]
        self.batch, self.forms = int(batch), [form for form in forms.split(",") if form]
        self.arguments = arguments
        self.out = pathlib.Path(arguments.out).resolve()
        self.key = f"{self.name}_{batch}_{self.type}"

    def run(self, command, **environment):
        done = subprocess.run([str(word) for word in command], env=dict(os.environ, **environment), capture_output=True, text=True,
                              timeout=self.arguments.seconds, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode}: {done.stdout[-200:]} {done.stderr[-600:]}")
        return done.stdout

    def prepare(self):
        model = self.out / f"{self.name}.onnx"
        if not model.exists():
            self.run([sys.executable, __file__, "--export", self.name, model])
        side, classes = (32, 10) if self.name == "resnet20" else (224, 1000)
        source = np.random.default_rng(1)
        images, labels = self.out / f"images_{side}.npy", self.out / f"labels_{side}.npy"
        count = max(4 * self.batch, 1024)
        np.save(images, source.integers(0, 256, (count, side, side, 3), np.uint8))
        np.save(labels, source.integers(0, classes, count).astype(np.int64))
        self.recipe = self.out / f"{self.key}.toml"
        self.recipe.write_text(RECIPE.format(model=model, precision=self.type, images=images, labels=labels, batch=self.batch, steps=WARM + STEPS))

    def tilefuse(self, program, who):
        folder = self.out / f"run_{self.key}"
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        said = self.run([program, "train", self.recipe, "-o", folder, "--device", self.arguments.device],
                        TILEFUSE_CACHE=str(self.out / f"{who.replace(' ', '_')}.sqlite"))
        with open(folder / "log.csv", encoding="utf-8") as file:
            times = [float(row["step_ms"]) for row in csv.DictReader(file) if row.get("step_ms")][WARM:]
        megabytes = re.search(r"([\d.]+) MB", said)
        return spread(times) + [megabytes.group(1) if megabytes else ""]

    def torch(self, form):
        text = self.run([sys.executable, HERE / "train_torch.py", self.name, f"{TORCH_TYPES[self.type]}:{form}", self.batch])
        row = next(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
        return [float(row["ms"]), float(row["p10_ms"]), float(row["p90_ms"]), row["mb"]]

    def sides(self):
        yield "tilefuse", lambda: self.tilefuse(self.arguments.tilefuse, "tilefuse")
        if self.arguments.old:
            yield "tilefuse before", lambda: self.tilefuse(self.arguments.old, "tilefuse before")
        for form in self.forms:
            yield f"torch {form}", lambda form=form: self.torch(form)

    def measure(self, rows, file):
        self.prepare()
        found = {}
        for turn in range(self.arguments.rounds):
            for who, run in self.sides():
                if turn > 0 and who not in found:
                    continue  # it did not end in the first round
                try:
                    numbers = run()
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"{self.key} {who}: {error}", flush=True)
                    continue
                found.setdefault(who, []).append(numbers[0])
                rows.writerow([self.name, self.batch, self.type, who, turn, *(f"{ms:.3f}" for ms in numbers[:3]), numbers[3]])
                file.flush()
        medians = {who: statistics.median(times) for who, times in found.items()}
        line = ", ".join(f"{who} {ms:.3f}" for who, ms in medians.items())
        peers = [ms for who, ms in medians.items() if who.startswith("torch")]
        ratio = f"; PyTorch's best over tilefuse {min(peers) / medians['tilefuse']:.2f}" if peers and "tilefuse" in medians else ""
        print(f"{self.key}: {line} ms{ratio}", flush=True)


def spread(times):
    times = sorted(times)
    return [statistics.median(times), times[len(times) // 10], times[len(times) * 9 // 10]]


def main():
    if sys.argv[1:2] == ["--export"]:
        export(sys.argv[2], sys.argv[3])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilefuse")
    parser.add_argument("out")
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--old")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "training.csv", "w", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["network", "batch", "type", "who", "round", "ms", "p10_ms", "p90_ms", "mb"])
        for case in arguments.cases:
            try:
                Case(case, arguments).measure(rows, file)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{case}: {error}", flush=True)


if __name__ == "__main__":
    main()
