#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mobilenet_model.py FILE: MobileNetV2 (Sandler et al. 2018, table 2) as an ONNX model with a symbolic batch, for timing networks.

Weights are drawn as those of resnet50_model.py. Needs NumPy.
"""
import sys

import numpy as np

import resnet50_model

# Factor of expansion, channels, blocks, stride of the first.
STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
FIRST, LAST = 32, 1280


class Model(resnet50_model.Model):
    name = "mobilenet_v2"

    def clipped(self, x):
        return self.node("Clip", [x, "zero", "six"])

    def block(self, x, inputs, outputs, expansion, stride):
        shortcut, width = x, inputs * expansion
        if expansion > 1:
            x = self.clipped(self.conv(x, inputs, width, 1))
        x = self.clipped(self.conv(x, width, width, 3, stride, group=width))
        x = self.conv(x, width, outputs, 1)
        return self.node("Add", [shortcut, x]) if stride == 1 and inputs == outputs else x

    def build(self):
        self.tensor("zero", np.zeros(()))
        self.tensor("six", np.full((), 6.0))
        x = self.clipped(self.conv("x", 3, FIRST, 3, 2))
        channels = FIRST
        for expansion, outputs, blocks, stride in STAGES:
            for k in range(blocks):
                x = self.block(x, channels, outputs, expansion, stride if k == 0 else 1)
                channels = outputs
        return self.classes(self.clipped(self.conv(x, channels, LAST, 1)), LAST)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    resnet50_model.write(Model(1), sys.argv[1])


if __name__ == "__main__":
    main()
