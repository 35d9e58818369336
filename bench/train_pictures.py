#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long training waits for pictures: JPEGs of 500x375, decoded as they are needed and packed before, at batch 128 with crops and flips.

    bench/train_pictures.py TILEFUSE OUT [--pictures 5000] [--rounds 3] [--steps 78] [--threads 2] [--device cpu]
                            [--precision f32] [--only resnet20,resnet50]

Makes the JPEGs in OUT from those of ../shared/data/images of TILEFUSE_DATA: windows of their own place, size and brightness, quality 90.
Two networks read them: cifar_resnet20 at 32 pixels, whose steps are the shorter ones, and ResNet-50 at 224.
Each round trains on the files and on what `tilefuse data pack` made of them, one behind the other. Written into OUT: pictures.csv with
network, side, data, round, ms of a step, ms of it that it waited, the share, both as medians behind the first four steps, and the line
in which the program says what bounds it. Needs NumPy and Pillow.
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
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path(os.environ.get("TILEFUSE_DATA", HERE.parent.parent / "shared" / "data"))
WIDTH, HEIGHT, WARM, CLASSES = 500, 375, 4, 10
SIDES = {"resnet20": 32, "resnet50": 224}
RECIPE = """
model = "{model}"
precision = "{precision}"
[data]
train = "{data}"
side = {side}
threads = {threads}
[augment]
pad_crop = {border}
flip = true
[steps]
batch = 128
epochs = 1000
limit = {steps}
[optimizer]
rate = 0.001
[keep]
log_steps = 1
checkpoints = 1
"""


def make_pictures(folder, count):
    """Files and list.txt with their labels; those that are there stay."""
    source = np.random.default_rng(1)
    whole = [Image.open(path).convert("RGB") for path in sorted((DATA / "images").glob("*.jpg"))]
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        path = folder / f"{number:05}.jpg"
        image = whole[number % len(whole)]
        share = source.uniform(0.5, 1)
        width, height = int(image.width * share), int(image.height * share)
        left, top = source.integers(0, image.width - width + 1), source.integers(0, image.height - height + 1)
        bright = source.uniform(0.7, 1.2)
        if not path.exists():
            window = image.crop((left, top, left + width, top + height)).resize((WIDTH, HEIGHT), Image.BILINEAR)
            window.point(lambda value, by=bright: min(255, int(value * by))).save(path, quality=90)
        lines.append(f"{path.name} {number % CLASSES}\n")
    (folder / "list.txt").write_text("".join(lines))
    return f"list:{folder / 'list.txt'}"


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.out = pathlib.Path(arguments.out).resolve()
        self.environment = dict(os.environ, TILEFUSE_CACHE=str(self.out / "kernels.sqlite"))

    def run(self, *command):
        done = subprocess.run(list(map(str, command)), env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.stdout

    def model(self, name):
        if name == "resnet20":
            return DATA / "models" / "cifar_resnet20" / "model.onnx"
        path = self.out / "resnet50.onnx"
        if not path.exists():
            self.run(sys.executable, HERE / "resnet50_model.py", path)
        return path

    def pack(self, pictures, side):
        name = self.out / f"packed_{side}"
        if not pathlib.Path(f"{name}.images.npy").exists():
            self.run(self.arguments.tilefuse, "data", "pack", pictures, "--side", side, "-o", name)
        return f"npy:{name}.images.npy,{name}.labels.npy"

    def rate(self, pictures, side):
        text = self.run(self.arguments.tilefuse, "data", "look", pictures, "--side", side, "--threads", self.arguments.threads)
        return re.search(r"^read +(\d+ pictures/s)", text, re.MULTILINE).group(1)

    def train(self, name, data):
        """Medians of a step's and of its waiting's milliseconds, the waiting's share of all, and what the program says of it."""
        side = SIDES[name]
        recipe, folder = self.out / f"{name}.toml", self.out / f"run_{name}"
        recipe.write_text(RECIPE.format(model=self.model(name), precision=self.arguments.precision, data=data, side=side,
                                        threads=self.arguments.threads, border=side // 8, steps=self.arguments.steps))
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        text = self.run(self.arguments.tilefuse, "train", recipe, "-o", folder, "--device", self.arguments.device)
        rows = list(csv.DictReader(open(folder / "log.csv", encoding="utf-8")))[WARM:]
        steps, waits = ([float(row[key]) for row in rows] for key in ("step_ms", "input_wait_ms"))
        said = re.search(r"^starved +(.*)$", text, re.MULTILINE)
        return statistics.median(steps), statistics.median(waits), sum(waits) / sum(steps), said.group(1) if said else ""

    def measure(self):
        files = make_pictures(self.out / "jpeg", self.arguments.pictures)
        with open(self.out / "pictures.csv", "w", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["network", "side", "data", "round", "step_ms", "wait_ms", "wait_share", "said"])
            for name in self.arguments.only.split(","):
                side = SIDES[name]
                kinds = {"files": files, "packed": self.pack(files, side)}
                print(f"{name}, {side} pixels: " + ", ".join(f"{kind} {self.rate(data, side)}" for kind, data in kinds.items()))
                shares = {kind: [] for kind in kinds}
                for number in range(self.arguments.rounds):
                    for kind, data in kinds.items():
                        step, wait, share, said = self.train(name, data)
                        rows.writerow([name, side, kind, number, f"{step:.2f}", f"{wait:.3f}", f"{share:.4f}", said])
                        file.flush()
                        shares[kind].append(share)
                for kind, found in shares.items():
                    print(f"  {kind}: waits {100 * statistics.median(found):.2f} % ({100 * min(found):.2f} to {100 * max(found):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilefuse")
    parser.add_argument("out")
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=78)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--only", default="resnet20")
    Bench(parser.parse_args()).measure()


if __name__ == "__main__":
    main()
