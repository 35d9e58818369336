#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training from Python: trainers, whole runs, arrays as pictures, errors, interrupts."""
import json
import logging
import pathlib
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import GLYPHS, main  # noqa: E402

import tilefuse as tf  # noqa: E402

RECIPE = GLYPHS / "recipe.toml"
HALF = ("0.5",) * 3
KEYS = {"model": GLYPHS / "model.onnx", "data": {"mean": [0.5] * 3, "std": HALF}, "steps": {"batch": 4, "epochs": 5},
        "optimizer.rate": 0.01, "parameters.classes": 3}


class Training(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.device = tf.Device("cpu", threads=1)

    def pictures(self, count=12):
        """Of three classes, each bright in a colour of its own."""
        labels = np.arange(count) % 3
        images = np.random.default_rng(1).integers(0, 90, (count, 32, 32, 3), np.uint8)
        images[np.arange(count), :, :, labels] += 150
        return images, labels

    def refused(self, code, function, *arguments, **named):
        with self.assertRaises(tf.Error) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)

    def test_steps_checkpoints_and_models(self):
        trainer = tf.Trainer(RECIPE, self.device)
        before = trainer.evaluate()
        self.assertEqual(before.count, 12)
        first = trainer.step(4)
        self.assertEqual((first.step, first.steps, first.made), (4, 40, 4))
        trainer.checkpoint(self.folder / "four.safetensors")
        last = trainer.step(36)
        self.assertLess(last.loss, first.loss)
        self.assertLess(trainer.evaluate().loss, before.loss)
        trainer.export(self.folder / "whole.onnx")
        again = tf.Trainer(RECIPE, self.device)
        again.restore(self.folder / "four.safetensors")
        self.assertEqual(again.info["step"], 4)
        again.step(36)
        again.export(self.folder / "again.onnx")
        self.assertEqual((self.folder / "whole.onnx").read_bytes(), (self.folder / "again.onnx").read_bytes())
        self.assertEqual(tf.load(self.folder / "whole.onnx", self.device, batch=1).outputs[0].shape, (1, 20))
        self.assertIn("all 40 steps", self.refused("unsupported", trainer.step))

    def test_arrays(self):
        pictures = self.pictures()
        trainer = tf.Trainer(KEYS, self.device, data=pictures, test=pictures, settings={"optimizer.kind": "adamw"})
        first, _, last = trainer.step(3), trainer.step(9), trainer.step(3)
        self.assertLess(last.loss, 0.5 * first.loss)
        self.assertEqual(trainer.evaluate().count, 12)
        trainer = tf.Trainer(KEYS, self.device, data=(pictures[0], pictures[1] + 5))
        self.assertIn("the model tells 3 classes apart", self.refused("shape", trainer.step))

    def test_whole_run(self):
        with self.assertLogs("tilefuse", logging.INFO) as logs:
            done = tf.train(RECIPE, self.folder / "run", self.device, settings={"steps.epochs": 3})
        self.assertTrue(done.complete)
        self.assertEqual((done.step, done.before.count, done.last.count), (6, 12, 12))
        self.assertIn("epoch  3/3", "\n".join(logs.output))
        self.assertTrue((self.folder / "run" / "best.onnx").exists())
        self.assertIn("holds a run", self.refused("io", tf.train, RECIPE, self.folder / "run", self.device))

    def test_an_interrupt_keeps_a_checkpoint(self):
        def stop(done, steps):
            if steps == 40 and done == 7:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            tf.train(RECIPE, self.folder / "run", self.device, progress=stop)
        steps = [int(path.stem[5:]) for path in (self.folder / "run").glob("step-*.safetensors")]
        self.assertIn(max(steps), (7, 8))  # the step under way is made
        self.assertEqual(tf.train(RECIPE, self.folder / "run", self.device, resume=True).step, 40)
        trainer = tf.Trainer(RECIPE, self.device)
        with self.assertRaises(KeyboardInterrupt):
            trainer.step(10, progress=lambda done, _all: stop(done + 4, 40))
        self.assertEqual(trainer.info["step"], 3)

    def test_work(self):
        trainer = tf.Trainer(RECIPE, self.device)
        self.assertIn("agree with the reference", trainer.verify(4))
        timing = trainer.bench(3)
        self.assertEqual((timing.runs, trainer.info["step"]), (3, 0))
        self.assertGreater(len(timing.kernels), 10)
        json.dumps(trainer.info)

    def test_mistakes(self):
        self.assertIn("nearest is optimizer.rate", self.refused("unsupported", tf.Trainer, RECIPE, settings={"optimizer.lr": 1}))
        self.assertIn("there is no such file", self.refused("io", tf.Trainer, self.folder / "none.toml"))
        trainer = tf.Trainer({"model": KEYS["model"]}, self.device, test=self.pictures())
        self.assertIn("no data to train on", self.refused("unsupported", trainer.step))
        self.assertIn("does not end in .onnx", self.refused("argument", trainer.export, self.folder / "model.pt"))


if __name__ == "__main__":
    main()
