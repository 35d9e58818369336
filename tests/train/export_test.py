#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What training exports, in onnxruntime: after no step the model that was read, after some as many pictures right as `evaluate`
says. Runs in an environment that has onnxruntime (tests/ort/environment.py)."""
import gzip
import pathlib
import re
import sys

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import DATA, ToolTest, main  # noqa: E402

import tilefuse as tf  # noqa: E402

MODELS, SETS = DATA / "models", DATA / "datasets"


def run(model, pictures, mean, std):
    """Scores of u8 [N, H, W, C], 500 at a time."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name, shape = session.get_inputs()[0].name, session.get_inputs()[0].shape
    x = ((pictures / np.float32(255) - np.float32(mean)) / np.float32(std)).transpose(0, 3, 1, 2).astype(np.float32)
    size = shape[0] if isinstance(shape[0], int) else 500
    return np.concatenate([session.run(None, {name: x[i:i + size]})[0] for i in range(0, len(x), size)])


class Export(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        self.need_data()

    def check(self, model, source, pictures, labels, form, batch, steps):
        mean, std = form
        recipe = {"model": model, "data": {"train": source, "test": source, "mean": mean, "std": std}, "steps.batch": batch,
                  "optimizer.rate": 0.01}
        trainer = tf.Trainer(recipe, tf.Device("cpu", cache=str(self.cache)))
        trainer.export(self.folder / "same.onnx")
        np.testing.assert_array_equal(run(model, pictures[:1000], mean, std), run(self.folder / "same.onnx", pictures[:1000], mean, std))
        trainer.step(steps)
        trainer.export(self.folder / "trained.onnx")
        ours = trainer.evaluate()
        told = self.succeed("evaluate", self.folder / "trained.onnx", "--data", source, "--mean", ",".join(map(str, mean)),
                            "--std", ",".join(map(str, std)), "--batch", batch)
        said = int(re.search(r"\((\d+) of", told).group(1))
        theirs = int((run(self.folder / "trained.onnx", pictures, mean, std).argmax(1) == labels).sum())
        print(f"{model.parent.name} after {steps} steps: {ours.hits} of {ours.count}, onnxruntime {theirs}, `evaluate` {said}")
        self.assertLessEqual(abs(theirs - ours.hits), len(labels) // 1000)
        self.assertLessEqual(abs(said - ours.hits), len(labels) // 1000)

    def test_digits(self):
        files = [SETS / "mnist_t10k" / f"t10k-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1")]
        pictures = np.frombuffer(gzip.open(files[0]).read()[16:], np.uint8).reshape(-1, 28, 28, 1)
        labels = np.frombuffer(gzip.open(files[1]).read()[8:], np.uint8)
        self.check(MODELS / "mnist_pytorch_bn" / "model.onnx", f"mnist:{files[0]},{files[1]}", pictures, labels, ([0.1307], [0.3081]),
                   50, 40)

    def test_cifar(self):
        file = SETS / "cifar10_subset" / "test_2000.bin.gz"
        records = np.frombuffer(gzip.open(file).read(), np.uint8).reshape(-1, 3073)
        pictures = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.check(MODELS / "cifar_resnet20" / "model.onnx", f"cifar:{file}", pictures, records[:, 0],
                   ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), 50, 10)


if __name__ == "__main__":
    main()
