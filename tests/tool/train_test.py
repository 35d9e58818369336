#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training runs as users start and lose them: the same bits for any number of reading threads, after kill -9, Ctrl-C and a full
disk; what is wrong with recipes, pictures and models is said in a sentence; digits are learned from scratch.

TILEFUSE_KILL_ROUNDS says how often a run is killed, six times where it is not set, and TILEFUSE_SEED by which seed digits are
learned.
"""
import csv
import gzip
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import unittest

import numpy as np

from support import DATA, GLYPHS, TOOL, ToolTest, field, main, node, onnx_model, value_info

KILLS = int(os.environ.get("TILEFUSE_KILL_ROUNDS", "6"))
SEED = int(os.environ.get("TILEFUSE_SEED", "1"))
RECIPE = GLYPHS / "recipe.toml"
OFTEN = ("--set", "keep.every_steps=1", "--set", "keep.log_steps=1", "--threads", 1)
MNIST = DATA / "datasets" / "mnist_t10k"
DIGITS = DATA / "models" / "mnist_pytorch_bn" / "model.onnx"


def tensors(path):
    """The elements of a checkpoint, and where each tensor lies, without what the run says of itself."""
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return header, data[8 + size:]


def newest(folder):
    found = sorted(folder.glob("step-*.safetensors"))
    return found[-1] if found else None


def losses(folder):
    """Of log.csv what no clock has a part in."""
    with open(folder / "log.csv", encoding="ascii") as file:
        return [(row["step"], row["epoch"], row["rate"], row["loss"], row["top1"], row["gradient_norm"]) for row in csv.DictReader(file)]


class Runs(ToolTest):
    """Runs on the repository's glyphs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = None

    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        if type(self).whole is None:
            type(self).whole = self.shared_folder / "whole"
            self.succeed("train", RECIPE, "-o", self.whole, *OFTEN)

    def check_equal(self, folder):
        self.assertEqual(newest(folder).name, newest(self.whole).name)
        self.assertEqual(newest(folder).read_bytes(), newest(self.whole).read_bytes())
        for name in ("last.onnx", "best.onnx"):
            self.assertEqual((folder / name).read_bytes(), (self.whole / name).read_bytes(), name)
        self.assertEqual(losses(folder), losses(self.whole))

    def start(self, folder, *arguments):
        resumes = ["--resume"] if newest(folder) else []
        return subprocess.Popen([str(word) for word in (TOOL, "train", RECIPE, "-o", folder, *OFTEN, *resumes, *arguments)],
                                env=dict(os.environ, TILEFUSE_CACHE=str(self.cache)), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def resume(self, folder):
        self.succeed("train", RECIPE, "-o", folder, *OFTEN, *(["--resume"] if newest(folder) else []))

    def test_two_runs(self):
        self.succeed("train", RECIPE, "-o", self.folder / "again", *OFTEN)
        self.check_equal(self.folder / "again")

    def test_kills(self):
        """Runs are killed at any moment and taken up, until each is through: not a bit differs."""
        draw, folder, begin = random.Random(1), self.folder / "killed", time.monotonic()
        self.succeed("train", RECIPE, "-o", self.folder / "timed", *OFTEN)
        longest, kills, ended, at = time.monotonic() - begin, 0, 0, []
        while kills < KILLS:
            with self.start(folder) as run:
                try:
                    run.communicate(timeout=draw.uniform(0, longest))
                except subprocess.TimeoutExpired:
                    run.kill()
                    kills += 1
                    at.append(int(newest(folder).stem[5:]) if newest(folder) else 0)
                else:
                    self.assertEqual(run.returncode, 0)
                    self.check_equal(folder)
                    shutil.rmtree(folder)
                    ended += 1
        if folder.exists():
            self.resume(folder)
            self.check_equal(folder)
            ended += 1
        print(f"{kills} kills, behind steps {at}; {ended} runs through, all equal to the unbroken one")

    def test_interrupt(self):
        folder = self.folder / "stopped"
        with self.start(folder, "--set", "steps.epochs=2000") as run:
            while not newest(folder) and run.poll() is None:
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            told, failures = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, failures)
        step = int(re.search(r"stopped  behind step (\d+): --resume goes on", told).group(1))
        self.assertEqual(int(newest(folder).stem[5:]), step)
        self.assertTrue((folder / "last.onnx").exists())

    def test_full_disk(self):
        """A disk that takes no more ends the run with a sentence; what was kept before is whole."""
        folder = self.folder / "full"
        self.succeed("train", RECIPE, "-o", folder, *OFTEN, "--steps", 3)

        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        failed = self.tool("train", RECIPE, "-o", folder, *OFTEN, "--resume", preexec_fn=small_disk)
        self.assertEqual(failed.returncode, 2, failed.stdout + failed.stderr)
        self.assertRegex(failed.stderr, "tilefuse: error: .*: cannot write the file: File too large")
        self.assertEqual(newest(folder).name, "step-00000003.safetensors")
        self.resume(folder)
        self.check_equal(folder)

    def test_damaged_checkpoint(self):
        folder = self.folder / "damaged"
        self.succeed("train", RECIPE, "-o", folder, *OFTEN, "--steps", 5)
        data = bytearray(newest(folder).read_bytes())
        data[len(data) // 2] ^= 1
        newest(folder).write_bytes(data)
        told = self.succeed("train", RECIPE, "-o", folder, *OFTEN, "--resume")
        self.assertRegex(told, r"skipped  .*step-00000005\.safetensors")
        self.assertIn("resume   step 4 of 40", told)
        self.check_equal(folder)

    def test_threads(self):
        """Threads that read pictures change no bit, on no device."""
        for device in ("cpu", "opencl"):
            with self.subTest(device):
                self.need_device(device)
                kept = []
                for threads in (1, 2, 1):
                    folder = self.folder / f"{device}{len(kept)}"
                    self.succeed("train", RECIPE, "-o", folder, "--device", device, "--threads", 2, "--set", f"data.threads={threads}",
                                 "--set", "augment.flip=true", "--set", "augment.pad_crop=2", "--steps", 12, "--set", "data.test=")
                    kept.append(newest(folder))
                self.assertEqual(tensors(kept[0]), tensors(kept[1]))
                self.assertEqual(kept[0].read_bytes(), kept[2].read_bytes())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def records(path):
    """The records of a TFRecord file, their hashes checked."""
    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    data = path.read_bytes()
    while data:
        size, = struct.unpack("<Q", data[:8])
        record = data[12:12 + size]
        assert data[8:12] == masked(data[:8]) and data[12 + size:16 + size] == masked(record)
        yield record
        data = data[16 + size:]


class Further(ToolTest):
    """What not every run asks for."""

    def setUp(self):
        super().setUp()
        self.need_device("cpu")

    def run_of(self, name, *arguments):
        folder = self.folder / name
        return folder, self.succeed("train", RECIPE, "-o", folder, "--device", "cpu", *arguments)

    def test_goes_on_with_averages_and_mixed_pictures(self):
        settings = [word for key in ("keep.ema=0.5", "augment.mixup=0.2", "augment.cutmix=1", "optimizer.kind=lamb")
                    for word in ("--set", key)]
        whole, told = self.run_of("whole", *settings)
        parts, _ = self.run_of("parts", *settings, "--steps", 7)
        self.run_of("parts", *settings, "--resume")
        self.assertEqual(newest(parts).read_bytes(), newest(whole).read_bytes())
        header, _ = tensors(newest(whole))
        self.assertTrue(any(name.startswith("average/") for name in header))
        judged = json.loads(self.succeed("evaluate", whole / "last.onnx", "--data", f"list:{GLYPHS}/train.txt", "--side", 32, "--mean",
                                         "0.5,0.5,0.5", "--std", "0.5,0.5,0.5", "--json"))
        last = re.findall(r"epoch .*test ([\d.]+)  loss ([\d.]+)", told)[-1]
        self.assertAlmostEqual(judged["top1"], float(last[0]), places=4)
        self.assertAlmostEqual(judged["loss"], float(last[1]), places=3)
        done = self.tool("train", RECIPE, "-o", parts, "--resume", "--set", "keep.ema=0.6")
        self.assertEqual(done.returncode, 2)
        self.assertIn("keep.ema: 0.6, was 0.5", done.stderr)
        self.refuse("train", RECIPE, "-o", self.folder / "one", *settings, "--batch", 1, says=["'steps.batch' of at least 2"])

    def test_events(self):
        settings = ("--set", "keep.tensorboard=true", "--set", "keep.log_steps=1")
        folder, _ = self.run_of("run", *settings, "--steps", 2)
        first, = folder.glob("events.out.tfevents.*")
        self.run_of("run", *settings, "--steps", 4, "--resume")
        second, = set(folder.glob("events.out.tfevents.*")) - {first}
        self.assertIn(b"brain.Event:2", next(records(first)))
        self.assertTrue(list(records(second))[1].endswith(b"\x10\x03\x3a\x02\x08\x01"))  # step 3: START
        said = [struct.unpack("<f", record.split(b"train/loss\x15")[1][:4])[0] for path in (first, second) for record in records(path)
                if b"train/loss" in record]
        self.assertEqual(said, [np.float32(row[3]) for row in losses(folder)])
        self.assertEqual(sum(b"test/top1" in record for record in records(second)), 1)

    def test_pictures_in_tar_files_and_packed(self):
        """The same bits of files, of shards in each format that Python writes, and of what is packed."""
        lines = [line.split() for line in (GLYPHS / "train.txt").read_text().splitlines()]
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            with tarfile.open(self.folder / f"shard-{form}.tar", "w", format=form) as shard:
                for name, label in lines[form::3]:
                    stem = "d.d/" * 30 + pathlib.Path(name).stem
                    shard.add(GLYPHS / name, f"{stem}.png")
                    (self.folder / "label").write_text(label)
                    shard.add(self.folder / "label", f"{stem}.cls")
        order = [line for form in range(3) for line in lines[form::3]]
        (self.folder / "train.txt").write_text("".join(f"{GLYPHS / name} {label}\n" for name, label in order))
        shards = f"tar:{self.folder}/shard-*.tar"
        looked = json.loads(self.succeed("data", "look", shards, "--side", 32, "--json"))
        self.assertEqual([looked[key] for key in ("count", "height", "channels")], [12, 32, 3])
        packed = json.loads(self.succeed("data", "pack", shards, "--side", 32, "-o", self.folder / "packed", "--json"))["data"]
        self.assertEqual(np.load(self.folder / "packed.images.npy", mmap_mode="r").shape, (12, 32, 32, 3))
        kept = [tensors(newest(self.run_of(name, "--data", pictures, "--set", "data.test=", "--steps", 4)[0]))
                for name, pictures in (("files", f"list:{self.folder}/train.txt"), ("shards", shards), ("packed", packed))]
        self.assertEqual(kept[0], kept[1])
        self.assertEqual(kept[0], kept[2])
        self.refuse("data", "pack", shards, says=["-o says the name of the files"])


class Mistakes(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_device("cpu")

    def fails(self, *arguments, says):
        """Exit code 2 and a sentence, before or behind the line that names the device."""
        done = self.tool("train", *arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("tilefuse: error: "), 1, done.stderr)
        for what in says:
            self.assertRegex(done.stderr, what)

    def pictures(self, bad):
        """A list of the glyphs, the picture of one line cut short."""
        shutil.copytree(GLYPHS / "images", self.folder / "images")
        lines = (GLYPHS / "train.txt").read_text().splitlines()
        name = lines[bad].split()[0]
        data = (self.folder / name).read_bytes()
        (self.folder / name).write_bytes(data[:len(data) // 2])
        (self.folder / "train.txt").write_text("\n".join(lines) + "\n")
        return name, f"list:{self.folder / 'train.txt'}"

    def test_damaged_pictures(self):
        name, pictures = self.pictures(4)
        arguments = (RECIPE, "-o", self.folder / "run", "--data", pictures, "--set", "data.test=", "--steps", 4)
        self.fails(*arguments, says=[f"{name}.*the PNG is damaged or truncated"])
        self.succeed("train", *arguments, "--set", "data.skip_damaged=true")

    def test_labels(self):
        pictures = np.zeros((8, 32, 32, 3), np.uint8)
        np.save(self.folder / "images.npy", pictures)
        np.save(self.folder / "labels.npy", np.arange(8) + 17)
        npy = f"npy:{self.folder / 'images.npy'},{self.folder / 'labels.npy'}"
        arguments = (RECIPE, "-o", self.folder / "run", "--data", npy, "--set", "data.test=")
        self.fails(*arguments, says=[r"a picture has label 2\d; the model tells 20 classes apart", "gives it a new head"])
        np.save(self.folder / "labels.npy", -1 - np.arange(8))
        self.fails(*arguments, says=["label"])

    def test_recipes(self):
        recipe = self.folder / "recipe.toml"
        recipe.write_text(f'model = "{GLYPHS}/model.onnx"\n[optimizer]\nlr = 0.1\n')
        self.refuse("train", recipe, "-o", self.folder / "run", says=[f"{recipe}:3", "the nearest is 'optimizer.rate'"])
        self.refuse("train", RECIPE, "-o", self.folder / "run", "--set", "steps.batch=0", says=["at least 1"])
        self.refuse("train", self.folder / "none.toml", "-o", self.folder / "run", says=["there is no such file"])
        self.assertFalse((self.folder / "run").exists())

    def test_other_verbs_take_recipes(self):
        report = json.loads(self.succeed("bench", RECIPE, "--device", "cpu", "--repeat", 3, "--json"))
        numbers = [kernel["number"] for kernel in report["kernels"]]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(report["batch"], 6)
        tuned = json.loads(self.succeed("tune", RECIPE, "--device", "cpu", "--budget", "2s", "--kernel", 1, "--json"))
        self.assertEqual([kernel["number"] for kernel in tuned["kernels"]], [1])
        for verb in ("bench", "tune", "verify", "explain"):
            self.refuse(verb, RECIPE, "--precision", "f16", says=["--precision is of models; what a recipe trains stands in the recipe"])

    def test_reasons_of_what_is_computed_again(self):
        on_cpu = ("--device", "cpu", "--json")
        whole = json.loads(self.succeed("explain", RECIPE, *on_cpu))
        self.assertNotIn("waiting", whole)
        needed = float(re.search(r"^memory +([0-9.]+) MB", whole["explanation"], re.MULTILINE).group(1))
        limited = json.loads(self.succeed("explain", RECIPE, "--memory", 0.95e-3 * needed, *on_cpu))
        waiting = limited["waiting"]
        again = [tensor for tensor in waiting if tensor["again"]]
        self.assertEqual(waiting[:len(again)], again)
        self.assertIn(f"({len(again)} compute again what memory is short for)", limited["explanation"])
        for tensor in again:
            self.assertRegex(tensor["reason"], r"^cheapest of \d+(, from others)?$")
            self.assertGreater(tensor["freed_bytes"], 0)
            self.assertGreater(tensor["seconds"], 0)
        for tensor in waiting[len(again):]:
            self.assertEqual(tensor["reason"] == "enough is free", tensor["freed_bytes"] is not None, tensor)
        self.refuse("explain", RECIPE, "--memory", "-1", says=["steps.memory_gb", "at least 0"])

    def test_checkpoint_of_another_model(self):
        folder = self.folder / "run"
        self.succeed("train", RECIPE, "-o", folder, "--steps", 2)
        self.fails(RECIPE, "-o", folder, "--resume", "--classes", 7, says=["parameters.classes: 7, was 20"])
        self.fails(RECIPE, "-o", folder, "--resume", "--classes", 30, "--force", says=["the checkpoint is of another model or optimiser"])
        self.assertEqual(newest(folder).name, "step-00000002.safetensors")

    def test_steps_that_are_not_finite(self):
        self.fails(RECIPE, "-o", self.folder / "run", "--set", "optimizer.kind=sgd", "--rate", "1e30", "--epochs", 40,
                   says=[r"step \d+: gradients of the last 20 steps are not finite", r"first of them, from the loss backwards: \w"])

    def test_models_that_learn_nothing(self):
        model = self.folder / "relu.onnx"
        model.write_bytes(onnx_model([node("Relu", ["x"], ["r"]), node("GlobalAveragePool", ["r"], ["p"]), node("Flatten", ["p"], ["y"])],
                                     [value_info("x", [6, 3, 32, 32])], [value_info("y", [6, 3])]))
        self.fails(model, "-o", self.folder / "run", "--data", f"list:{GLYPHS}/train.txt", "--set", "data.side=32", "--batch", 6,
                   says=["the model has no parameter that could be trained"])

    def test_quantised_models(self):
        self.need_data()
        self.fails(DATA / "models" / "cifar_resnet20_qdq_int8" / "model.onnx", "-o", self.folder / "run", "--data", f"list:{GLYPHS}/train.txt",
                   "--set", "data.side=32", says=["quantised; such models are not trained"])


class Digits(ToolTest):
    """The network for digits on 8000 pictures of MNIST's test set, judged by the 2000 others."""

    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        self.need_data()
        pictures = np.frombuffer(gzip.open(MNIST / "t10k-images-idx3-ubyte.gz").read()[16:], np.uint8).reshape(-1, 28, 28)
        labels = np.frombuffer(gzip.open(MNIST / "t10k-labels-idx1-ubyte.gz").read()[8:], np.uint8)
        self.sets = {}
        for name, part in (("train", slice(0, 8000)), ("test", slice(8000, 10000))):
            np.save(self.folder / f"{name}.npy", pictures[part])
            np.save(self.folder / f"{name}_labels.npy", labels[part].astype(np.int32))
            self.sets[name] = f"npy:{self.folder / name}.npy,{self.folder / name}_labels.npy"
        self.labels = labels[8000:]

    def train(self, *arguments):
        """A run on both sets, which later arguments may say otherwise."""
        return self.succeed("train", DIGITS, "-o", self.folder / "run", "--data", self.sets["train"], "--test", self.sets["test"],
                            "--set", "data.mean=0.1307", "--set", "data.std=0.3081", "--threads", 2, *arguments)

    def test_from_scratch(self):
        told = self.train("--set", "parameters.init=kaiming", "--set", f"seed={SEED}", "--batch", 50, "--epochs", 5, "--rate", 0.02,
                          "--set", "rate.kind=cosine")
        before = float(re.search(r"before   test top-1 ([\d.]+)", told).group(1))
        best = float(re.search(r"best     epoch \d+, test top-1 ([\d.]+)", told).group(1))
        print(f"digits from scratch, seed {SEED}: {before} before, {best} at best")
        self.assertLess(before, 0.3)
        self.assertGreaterEqual(best, 0.975)

    def test_last_layer_for_five_classes(self):
        """A new last layer for the digits up to 4, which alone learns."""
        for name in ("train", "test"):
            labels = np.load(self.folder / f"{name}_labels.npy")
            np.save(self.folder / f"{name}.npy", np.load(self.folder / f"{name}.npy")[labels < 5])
            np.save(self.folder / f"{name}_labels.npy", labels[labels < 5])
        told = self.train("--classes", 5, "--last", 1, "--batch", 50, "--steps", 60, "--rate", 0.02)
        self.assertRegex(told, "model .* in 1 layers")
        before, after = (float(re.search(rf"{what} .*test(?: top-1)? ([\d.]+)", told).group(1)) for what in ("before", "epoch"))
        print(f"five digits by the last layer: {before} before, {after} after 60 steps")
        self.assertLess(before, 0.5)
        self.assertGreater(after, 0.95)
        self.assertIn("top-1", self.succeed("evaluate", self.folder / "run" / "last.onnx", "--data", self.sets["test"], "--mean", 0.1307,
                                            "--std", 0.3081))


if __name__ == "__main__":
    main()
