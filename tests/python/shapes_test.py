#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes that a model leaves open: bound by name, by shape, by values, or by what arrives; and the same on the command line."""
import pathlib
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import ToolTest, field, main, node, onnx_model  # noqa: E402

import tilefuse as tf  # noqa: E402

FLOAT, INT64 = 1, 7


def open_info(name, dims, kind=FLOAT):
    """A declared tensor whose dimensions are numbers or symbols."""
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


RELU = onnx_model([node("Relu", ["images"], ["y"])], [open_info("images", ["batch", 3, "height", "width"])],
                  [open_info("y", ["batch", 3, "height", "width"])])
RESHAPE = onnx_model([node("Reshape", ["x", "target"], ["y"])],
                     [open_info("x", [6]), open_info("target", [2], INT64)], [open_info("y", ["a", "b"])])


class Python(unittest.TestCase):
    def test_what_arrives(self):
        model = tf.load(RELU, tf.Device("cpu", threads=1))
        self.assertEqual(model.inputs[0].shape, ("batch", 3, "height", "width"))
        for height, width in ((4, 5), (7, 2), (4, 5)):
            x = np.random.default_rng(0).random((1, 3, height, width), dtype=np.float32) - 0.5
            np.testing.assert_array_equal(model(x)[0], np.maximum(x, 0))
        self.assertEqual(model.info["shapes_kept"], 2)

    def test_bound(self):
        for options in ({"dims": {"batch": 1, "height": 4, "width": 5}}, {"shapes": {"images": (1, 3, 4, 5)}}):
            model = tf.load(RELU, **options)
            self.assertEqual(model.inputs[0].shape, (1, 3, 4, 5))
            self.assertEqual(model.bench(1).runs, 1)

    def test_partly_bound(self):
        model = tf.load(RELU, dims={"height": 4})
        self.assertEqual(model.inputs[0].shape, ("batch", 3, 4, "width"))
        with self.assertRaisesRegex(tf.Error, "need at least 1|got f32"):
            model(np.zeros((1, 3, 5, 5), np.float32))
        with self.assertRaisesRegex(tf.Error, "is not bound"):
            model.bench(1)

    def test_nothing(self):
        """Tensors without elements, given, returned and on the way; what sums them up is 0."""
        info = open_info("x", ["n", 3])
        nodes = [node("Relu", ["x"], ["relu"]), node("Transpose", ["x"], ["turned"]), node("MatMul", ["turned", "relu"], ["product"]),
                 node("Shape", ["relu"], ["shape"])]
        results = [open_info("relu", ["n", 3]), open_info("product", [3, 3]), open_info("shape", [2], INT64)]
        for name in ("cpu", "opencl"):
            if not any(found.usable and found.device.startswith(name) for found in tf.devices()):
                continue
            model = tf.load(onnx_model(nodes, [info], results), tf.Device(name))
            for rows in (0, 2, 0):
                x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) - 1
                relu, product, shape = model(x)
                np.testing.assert_array_equal(relu, np.maximum(x, 0))
                np.testing.assert_array_equal(product, x.T @ np.maximum(x, 0))
                np.testing.assert_array_equal(shape, (rows, 3))

    def test_question_marks_are_no_names(self):
        """Some exporters call every open size "?"."""
        info = open_info("x", ["?", 3, "?", "?"])
        model = tf.load(onnx_model([node("Relu", ["x"], ["y"])], [info], [open_info("y", ["?", 3, "?", "?"])]))
        self.assertEqual(model.inputs[0].shape, (None, 3, None, None))
        for height, width in ((4, 5), (7, 2)):
            x = np.random.default_rng(0).random((1, 3, height, width), dtype=np.float32) - 0.5
            np.testing.assert_array_equal(model(x)[0], np.maximum(x, 0))

    def test_values(self):
        model = tf.load(RESHAPE, values={"target": (2, 3)})
        self.assertEqual([tensor.name for tensor in model.inputs], ["x"])
        x = np.arange(6, dtype=np.float32)
        np.testing.assert_array_equal(model(x)[0], x.reshape(2, 3))
        with self.assertRaisesRegex(tf.Error, "which is no input"):
            tf.load(RESHAPE, values={"y": (2, 3)})
        with self.assertRaisesRegex(tf.Error, "values are for 32- and 64-bit integers"):
            tf.load(RESHAPE, values={"x": (1, 2, 3, 4, 5, 6)})


class Tool(ToolTest):
    def file(self, data):
        path = self.folder / "model.onnx"
        path.write_bytes(data)
        return path

    def test_every_verb(self):
        path, sizes = self.file(RELU), ("--dim", "height=4", "--dim", "width=5")
        self.assertIn("[1, 3, 4, 5]", self.succeed("opt", "--from=onnx", "--to=program", path, *sizes))
        self.succeed("bench", path, "--repeat", 1, *sizes)
        self.succeed("verify", path, "--shape", "images=2,3,4,5")
        self.succeed("explain", path, "--layer", 0, *sizes)
        self.succeed("fusion", path, *sizes)
        self.succeed("simulate", "--from=onnx", path, *sizes)
        self.succeed("tune", path, "--budget", "1s", *sizes, "--records", self.folder / "records.sqlite")
        self.refuse("bench", path, says=["dimension 2 of [batch, 3, height, width] is unknown", "--dim height=320"])
        self.refuse("bench", path, "--dim", "depth=4", says=['no input has a dimension "depth"', "batch, height, width"])
        self.refuse("bench", path, "--dim", "height", says=["need a dimension's name and size"])

    def test_values(self):
        self.assertIn("[2, 3]", self.succeed("opt", "--from=onnx", "--to=program", self.file(RESHAPE), "--value", "target=2,3"))


if __name__ == "__main__":
    main()
