# SPDX-License-Identifier: Apache-2.0
"""tilefuse: convolutional networks compiled into kernels for the devices of this machine.

    import tilefuse as tf

    m = tf.load("model.onnx", device="cpu", dims={"height": 320})
    y = m.run({"images": x})      # a dictionary of NumPy arrays, or of torch tensors where x is one
    logits, = m(x)

    conv = tf.tile("function scale(X[N]; F) -> (Y) { Y = F * X; }")
    y = conv(x, F=3)

    t = tf.Trainer("recipe.toml")           # or tf.train("recipe.toml", "runs/a") for all of it
    t.step(100).loss, t.evaluate().top1
    t.export("trained.onnx")

What arrays hold is neither copied in nor out on the CPU. A mistake is an Error.
"""
from ._library import Error, library_path, version
from .device import Device, FoundDevice, devices, options
from .model import Model, Tensor, Timing, load
from .ort import ORT_PROVIDER, ort_library
from .tile import TileFunction, tile
from .training import Evaluation, RunResult, Step, Trainer, train

__all__ = ["Device", "Error", "Evaluation", "FoundDevice", "Model", "ORT_PROVIDER", "RunResult", "Step", "Tensor", "TileFunction",
           "Timing", "Trainer", "devices", "library_path", "load", "options", "ort_library", "tile", "train", "version"]
__version__ = version()
