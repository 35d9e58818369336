#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/autograd.txt: gradients of ONNX operators as PyTorch's autograd computes them in double precision.

Run by hand (needs torch from the Python registry); tests/onnx/autograd_test.cpp reads the file. One case:

    case NAME
    op TYPE OPSET
    ints NAME V V …          an attribute; also `int NAME V` and `real NAME V`
    input NAME D D … : V V …
    seed D D … : V V …       the gradient of the result
    grad NAME : V V …        the gradient of the sum of result * seed by an input
    end
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
EPSILON = 2.0**-10  # exact as a float
OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "autograd.txt"


def numbers(tensor):
    return " ".join(f"{v:.11g}" for v in tensor.detach().flatten().tolist())


def sizes(tensor):
    return " ".join(str(d) for d in tensor.shape)


class Data:
    def __init__(self):
        self.text = "# SPDX-License-Identifier: Apache-2.0\n# Written by tests/program/make_autograd_data.py.\n"
        self.generator = torch.Generator().manual_seed(7)

    def values(self, *shape, positive=False, whole=False):
        """Multiples of 1/64, so that they are short and exact; none is 0."""
        if whole:
            return torch.randint(-2, 3, shape, generator=self.generator).double()
        v = torch.randint(1, 128, shape, generator=self.generator).double() / 64
        return v + 0.25 if positive else v * (2 * torch.randint(0, 2, shape, generator=self.generator) - 1)

    def case(self, name, op, function, inputs, attributes=None, opset=17, constant=()):
        """`inputs`: by name; those in `constant` are not differentiated by."""
        lines = [f"case {name}", f"op {op} {opset}"]
        for key, value in (attributes or {}).items():
            kind = "ints" if isinstance(value, list) else "real" if isinstance(value, float) else "int"
            lines.append(f"{kind} {key} " + " ".join(str(v) for v in (value if isinstance(value, list) else [value])))
        leaves = {k: v.clone().requires_grad_(k not in constant) for k, v in inputs.items()}
        result = function(*leaves.values())
        seed = self.values(*result.shape)
        (result * seed).sum().backward()
        for key, leaf in leaves.items():
            lines.append(f"input {key} {sizes(leaf)} : {numbers(leaf)}")
        lines.append(f"seed {sizes(seed)} : {numbers(seed)}")
        for key, leaf in leaves.items():
            if key not in constant:
                lines.append(f"grad {key} : {numbers(leaf.grad)}")
        self.text += "\n" + "\n".join(lines) + "\nend\n"


def convolutions(data):
    def conv(name, image, filters, stride=1, pad=0, dilation=1, groups=1):
        axes = len(image) - 2
        function = [F.conv1d, F.conv2d, F.conv3d][axes - 1]
        data.case(name, "Conv",
                  lambda x, w, b: function(x, w, b, stride=stride, padding=pad, dilation=dilation, groups=groups),
                  {"x": data.values(*image), "w": data.values(*filters), "b": data.values(filters[0])},
                  {"strides": [stride] * axes, "pads": [pad] * 2 * axes, "dilations": [dilation] * axes,
                   "group": groups})

    conv("conv_one", (1, 1, 1, 1), (1, 1, 1, 1))
    conv("conv_same", (1, 3, 7, 5), (2, 3, 3, 3), pad=1)
    conv("conv_stride2", (2, 3, 7, 6), (2, 3, 3, 3), stride=2, pad=1)
    conv("conv_stride3", (1, 2, 11, 8), (3, 2, 5, 5), stride=3, pad=2)
    conv("conv_stride3_gaps", (1, 2, 8, 8), (2, 2, 2, 2), stride=3)
    conv("conv_dilated", (1, 2, 9, 9), (2, 2, 3, 3), stride=2, pad=2, dilation=2)
    conv("conv_groups", (1, 4, 5, 5), (6, 2, 3, 3), stride=2, pad=1, groups=2)
    conv("conv_depthwise", (1, 3, 6, 5), (3, 1, 3, 3), stride=2, pad=1, groups=3)
    conv("conv_1x1_stride2", (1, 3, 5, 5), (4, 3, 1, 1), stride=2)
    conv("conv_1d", (2, 3, 11), (2, 3, 3), stride=2, pad=1)
    conv("conv_3d", (1, 1, 4, 5, 3), (2, 1, 2, 3, 2), stride=2, pad=1)
    for name, stride, pad, extra in (("transposed_stride2", 2, 1, 1), ("transposed_stride3", 3, 0, 0)):
        data.case(name, "ConvTranspose",
                  lambda x, w, b: F.conv_transpose2d(x, w, b, stride=stride, padding=pad, output_padding=extra),
                  {"x": data.values(1, 2, 3, 4), "w": data.values(2, 3, 3, 3), "b": data.values(3)},
                  {"strides": [stride] * 2, "pads": [pad] * 4, "output_padding": [extra] * 2})


def pools(data):
    def max_pool(name, image, kernel, stride, pad=0, dilation=1, ceil=False, whole=False):
        data.case(name, "MaxPool",
                  lambda x: F.max_pool2d(x, kernel, stride, pad, dilation, ceil_mode=ceil),
                  {"x": data.values(*image, whole=whole)},
                  {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4,
                   "dilations": [dilation] * 2, "ceil_mode": int(ceil)})

    max_pool("max_pool", (1, 2, 6, 6), 2, 2)
    max_pool("max_pool_overlapping", (1, 2, 7, 7), 3, 2, pad=1)
    max_pool("max_pool_dense", (1, 2, 5, 6), 3, 1, pad=1)
    max_pool("max_pool_ties", (1, 3, 7, 7), 3, 2, pad=1, whole=True)
    max_pool("max_pool_gaps", (1, 1, 8, 8), 2, 3)
    max_pool("max_pool_dilated", (1, 2, 9, 9), 3, 2, dilation=2)
    max_pool("max_pool_ceil", (1, 1, 6, 6), 3, 2, ceil=True)

    def average(name, image, kernel, stride, pad, include, ceil=False):
        data.case(name, "AveragePool",
                  lambda x: F.avg_pool2d(x, kernel, stride, pad, ceil_mode=ceil, count_include_pad=include),
                  {"x": data.values(*image)},
                  {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4,
                   "count_include_pad": int(include), "ceil_mode": int(ceil)}, opset=19)

    average("average_pool", (1, 2, 6, 6), 2, 2, 0, False)
    average("average_pool_excluding", (1, 2, 7, 6), 3, 2, 1, False)
    average("average_pool_including", (1, 2, 7, 6), 3, 2, 1, True)
    average("average_pool_overlapping", (1, 1, 5, 5), 3, 1, 1, True)
    data.case("global_average_pool", "GlobalAveragePool", lambda x: F.adaptive_avg_pool2d(x, 1),
              {"x": data.values(2, 3, 5, 3)})
    data.case("global_max_pool", "GlobalMaxPool", lambda x: F.adaptive_max_pool2d(x, 1),
              {"x": data.values(2, 3, 5, 3)})


def normalisations(data):
    data.case("batch_norm", "BatchNormalization",
              lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, False, 0, EPSILON),
              {"x": data.values(2, 3, 4, 2), "w": data.values(3), "b": data.values(3), "mean": data.values(3),
               "var": data.values(3, positive=True)},
              {"epsilon": EPSILON}, opset=15, constant=("mean", "var"))
    data.case("instance_norm", "InstanceNormalization",
              lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=EPSILON),
              {"x": data.values(2, 3, 4, 3), "w": data.values(3), "b": data.values(3)}, {"epsilon": EPSILON})
    data.case("layer_norm", "LayerNormalization", lambda x, w, b: F.layer_norm(x, (7,), w, b, EPSILON),
              {"x": data.values(2, 3, 7), "w": data.values(7), "b": data.values(7)},
              {"axis": -1, "epsilon": EPSILON})
    data.case("group_norm", "GroupNorm", lambda x, w, b: F.group_norm(x, 3, w.flatten(), b.flatten(), EPSILON),
              {"x": data.values(2, 6, 2, 3), "w": data.values(6, 1, 1), "b": data.values(6, 1, 1)},
              {"groups": 3, "epsilon": EPSILON})
    for size in (3, 5):
        data.case(f"lrn_{size}", "LRN", lambda x: F.local_response_norm(x, size, 0.25, 0.75, 2.0),
                  {"x": data.values(1, 7, 2, 3)}, {"size": size, "alpha": 0.25, "beta": 0.75, "bias": 2.0})
    for op, function in (("Softmax", F.softmax), ("LogSoftmax", F.log_softmax)):
        for axis in (1, -1):
            data.case(f"{op.lower()}_{axis % 3}", op, lambda x: function(x, axis), {"x": data.values(2, 5, 3)},
                      {"axis": axis})


def activations(data):
    """At 0, too, where they are smooth."""
    for op, function in (("Softplus", F.softplus), ("Mish", F.mish), ("Celu", F.celu), ("Elu", F.elu),
                         ("Gelu", F.gelu), ("Sigmoid", torch.sigmoid), ("Tanh", torch.tanh), ("Selu", F.selu),
                         ("Softsign", F.softsign), ("Erf", torch.erf)):
        x = data.values(9)
        if op != "Selu":
            x[4] = 0
        x[5] = 30
        x[6] = -30
        data.case(op.lower(), op, function, {"x": x}, opset=20)
    x = data.values(9)
    x[4] = 0
    data.case("relu", "Relu", F.relu, {"x": x})


def main():
    data = Data()
    for group in (convolutions, pools, normalisations, activations):
        group(data)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(data.text)
    print(f"{OUT}: {len(data.text)} bytes")


if __name__ == "__main__":
    sys.exit(main())
