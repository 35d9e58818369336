#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resnet50_model.py FILE: ResNet-50 as an ONNX model with a symbolic batch, for timing networks.

The topology is torchvision's (stride in the 3x3 convolution), with unfolded batch normalisation. Weights are drawn as
He et al. 2015 propose, the last normalisation of a block scaled down, so that activations keep the size of a trained
network's and fit half precision. Needs NumPy.
"""
import sys

import numpy as np

BLOCKS = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]  # width, blocks, stride of the first
EXPANSION = 4
LAST_SCALE = 0.25
CLASSES = 1000
FLOAT, INTS, INT = 1, 7, 2


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """One protobuf field: an integer, or bytes or text with its length before it."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


class Model:
    name = "resnet50"

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.parts = []
        self.count = 0

    def tensor(self, name, values):
        data = values.astype("<f4")
        self.parts.append(field(5, b"".join(field(1, size) for size in data.shape) + field(2, FLOAT) + field(8, name)
                                + field(9, data.tobytes())))
        return name

    def node(self, operator, inputs, **attributes):
        self.count += 1
        name = f"{operator}_{self.count}"
        body = b"".join(field(1, i) for i in inputs) + field(2, name) + field(3, name) + field(4, operator)
        for key, value in attributes.items():
            if isinstance(value, int):
                body += field(5, field(1, key) + field(3, value) + field(20, INT))
            else:
                body += field(5, field(1, key) + b"".join(field(8, v) for v in value) + field(20, INTS))
        self.parts.append(field(1, body))
        return name

    def conv(self, x, inputs, outputs, size, stride=1, scale=1.0, group=1):
        name = f"conv{self.count}"
        spread = np.sqrt(2 / (inputs // group * size * size))
        weight = self.tensor(name + ".w", spread * self.random.standard_normal((outputs, inputs // group, size, size)))
        pad = size // 2
        x = self.node("Conv", [x, weight], kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4, group=group)
        vectors = [scale * self.random.uniform(0.8, 1.2, outputs), self.random.uniform(-0.1, 0.1, outputs),
                   self.random.uniform(-0.1, 0.1, outputs), self.random.uniform(0.8, 1.2, outputs)]
        return self.node("BatchNormalization",
                         [x] + [self.tensor(f"{name}.{part}", v) for part, v in zip("gbmv", vectors)])

    def block(self, x, inputs, width, stride):
        outputs = width * EXPANSION
        shortcut = x
        if stride != 1 or inputs != outputs:
            shortcut = self.conv(x, inputs, outputs, 1, stride)
        x = self.node("Relu", [self.conv(x, inputs, width, 1)])
        x = self.node("Relu", [self.conv(x, width, width, 3, stride)])
        x = self.node("Add", [self.conv(x, width, outputs, 1, scale=LAST_SCALE), shortcut])
        return self.node("Relu", [x])

    def build(self):
        x = self.node("Relu", [self.conv("x", 3, 64, 7, 2)])
        x = self.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        channels = 64
        for width, blocks, stride in BLOCKS:
            for k in range(blocks):
                x = self.block(x, channels, width, stride if k == 0 else 1)
                channels = width * EXPANSION
        return self.classes(x, channels)

    def classes(self, x, channels):
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])], axis=1)
        weight = self.tensor("fc.w", self.random.standard_normal((CLASSES, channels)) / np.sqrt(channels))
        bias = self.tensor("fc.b", self.random.uniform(-0.1, 0.1, CLASSES))
        return self.node("Gemm", [x, weight, bias], transB=1)

    def bytes(self):
        output = self.build()

        def value(name, sizes):
            dims = b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in sizes)
            return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims)))

        graph = b"".join(self.parts) + field(2, self.name) + field(11, value("x", ["N", 3, 224, 224]))
        graph += field(12, value(output, ["N", CLASSES]))
        return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def write(model, path):
    with open(path, "wb") as file:
        file.write(model.bytes())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Model(1), sys.argv[1])


if __name__ == "__main__":
    main()
