#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training ResNet-50 on several GPUs of one host: how much faster than on one, beside PyTorch, and whether the bits are the same.

    bench/train_workers.py TILEFUSE OUT [--workers 2] [--batch 128] [--precision f16] [--rounds 2] [--only time,bits,torch]

TILEFUSE is the program, of a build or of an unpacked archive of scripts/bundle.sh. Needs NumPy; NCCL is taken from PyTorch's
folder nvidia/nccl/lib unless TILEFUSE_NCCL says where it is. NVLink multicast stays off (NCCL_NVLS_ENABLE=0). Written into OUT:

    workers.csv   who, workers, batch per GPU, order and, where it is not f32, the type of parts, round, step_ms (median of the last 20 of 60 steps), images_per_second,
                  exchange_wait_ms (mean of them, by the device's clock)
    bits.csv      SHA-256 of the checkpoint after 50 steps of as many lanes as workers, by workers: with parts of f32, of bf16,
                  and with lanes that are normalised together
    *.log         what the programs said; the kernel cache stays there too, so that a second call starts warm

Rounds take turns: one worker, several, PyTorch's one, PyTorch's several.
"""
import argparse
import csv
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = 8192
STEPS, BIT_STEPS = 60, 50
BIT_FORMS = {"f32": {}, "bf16": {"parts": "bf16"}, "synced": {"batch_norm": "synced"}}
RECIPE = """
model = "{model}"
precision = "{precision}"
[data]
train = "npy:{images},{labels}"
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]
threads = {threads}
[steps]
batch = {batch}
lanes = {lanes}
exchange = "{order}"
parts = "{parts}"
epochs = 1000
limit = {limit}
[parameters]
batch_norm = "{batch_norm}"
[optimizer]
rate = 0.01
decay = 1e-4
[keep]
log_steps = 20
checkpoints = 1
"""


def nccl_folder():
    """Where PyTorch's NCCL lies, or None."""
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations if spec else []:
        folder = pathlib.Path(place) / "nccl" / "lib"
        if (folder / "libnccl.so.2").exists():
            return folder
    return None


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tool = pathlib.Path(arguments.tilefuse).resolve()
        self.out = pathlib.Path(arguments.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, NCCL_NVLS_ENABLE="0", TILEFUSE_CACHE=str(self.out / "kernels.sqlite"))
        folder = nccl_folder()
        if folder and "TILEFUSE_NCCL" not in os.environ:
            self.environment["TILEFUSE_NCCL"] = str(folder)
        self.model, self.images, self.labels = (self.out / name for name in ("resnet50.onnx", "images.npy", "labels.npy"))

    def make_data(self):
        if not self.model.exists():
            subprocess.run([sys.executable, str(HERE / "resnet50_model.py"), str(self.model)], check=True)
        if not self.labels.exists():
            source = np.random.default_rng(1)
            images = np.lib.format.open_memmap(self.images, "w+", np.uint8, (PICTURES, 224, 224, 3))
            for begin in range(0, PICTURES, 512):
                images[begin:begin + 512] = source.integers(0, 256, (512, 224, 224, 3), np.uint8)
            images.flush()
            np.save(self.labels, source.integers(0, 1000, PICTURES).astype(np.int64))

    def train(self, name, workers, lanes, limit, order="tree", parts="f32", batch_norm="train"):
        """Runs one training and returns its folder; what it says goes to NAME.log."""
        run = self.out / name
        shutil.rmtree(run, ignore_errors=True)
        recipe = self.out / f"{name}.toml"
        recipe.write_text(RECIPE.format(model=self.model, images=self.images, labels=self.labels, order=order, lanes=lanes,
                                        parts=parts, batch_norm=batch_norm, limit=limit, batch=self.arguments.batch, precision=self.arguments.precision,
                                        threads=max(2, (os.cpu_count() or 4) // 4)))
        command = [str(self.tool), "train", str(recipe), "-o", str(run), "--device", "cuda"]
        if workers > 1:
            command += ["--workers", str(workers)]
        with open(self.out / f"{name}.log", "w", encoding="utf-8") as log:
            done = subprocess.run(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT, timeout=900, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{(self.out / f'{name}.log').read_text()[-2000:]}")
        return run

    def time(self, write):
        wanted = [1, self.arguments.workers]
        for form in ("tree", "tree bf16", "library"):
            order, _, parts = form.partition(" ")
            for round_number in range(self.arguments.rounds):
                for workers in wanted if form == "tree" else wanted[1:]:
                    run = self.train(f"time_{workers}_{order}{parts}", workers, workers, STEPS, order, parts or "f32")
                    row = list(csv.DictReader(open(run / "log.csv", encoding="utf-8")))[-1]
                    step_ms = float(row["step_ms"])
                    write("tilefuse", workers, self.arguments.batch, form, round_number, f"{step_ms:.3f}",
                          f"{workers * self.arguments.batch / step_ms * 1e3:.1f}", f"{float(row['exchange_wait_ms']):.3f}")
                if form == "tree" and "torch" in self.arguments.only:
                    self.time_torch(write, wanted, round_number)

    def time_torch(self, write, wanted, round_number):
        dtype = {"f16": "float16", "bf16": "bfloat16"}[self.arguments.precision]
        for workers in wanted:
            done = subprocess.run([sys.executable, str(HERE / "train_workers_torch.py"), str(workers),
                                   str(self.arguments.batch), dtype], env=self.environment, text=True, timeout=600,
                                  stdout=subprocess.PIPE, check=True)
            step_ms = float(done.stdout.splitlines()[-1].split(",")[2])
            write("torch DDP" if workers > 1 else "torch", workers, self.arguments.batch, "ring", round_number, f"{step_ms:.3f}",
                  f"{workers * self.arguments.batch / step_ms * 1e3:.1f}", "")

    def compare_bits(self):
        lanes = self.arguments.workers
        all_same = True
        with open(self.out / "bits.csv", "w", encoding="utf-8") as file:
            print("form,workers,lanes,steps,sha256", file=file)
            for form, how in BIT_FORMS.items():
                hashes = set()
                for workers in (1, lanes):
                    run = self.train(f"bits_{workers}", workers, lanes, BIT_STEPS, **how)
                    checkpoint = run / f"step-{BIT_STEPS:08}.safetensors"
                    hashes.add(hashlib.sha256(checkpoint.read_bytes()).hexdigest())
                    print(form, workers, lanes, BIT_STEPS, hashlib.sha256(checkpoint.read_bytes()).hexdigest(), sep=",",
                          file=file, flush=True)
                print(f"{form}: checkpoints of {lanes} lanes by 1 and by {lanes} GPUs after {BIT_STEPS} steps: "
                      f"{'the same bytes' if len(hashes) == 1 else 'DIFFERENT'}", flush=True)
                all_same &= len(hashes) == 1
        return all_same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilefuse")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--precision", default="f16", choices=("f16", "bf16"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="time,bits,torch", type=lambda text: text.split(","))
    bench = Bench(parser.parse_args())
    bench.make_data()
    same = bench.compare_bits() if "bits" in bench.arguments.only else True
    if "time" in bench.arguments.only:
        with open(bench.out / "workers.csv", "w", encoding="utf-8") as file:
            print("who,workers,batch,order,round,step_ms,images_per_second,exchange_wait_ms", file=file, flush=True)

            def write(*row):
                print(*row, sep=",", file=file, flush=True)
                print(*row, sep=",", flush=True)

            bench.time(write)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
