#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Losses of training by PyTorch, in f64 and in f32, that tilefuse's are compared with.

    make_curves.py MODEL PICTURES LABELS ORDER BATCH STEPS [key=value …] > curve

MODEL is an ONNX file, PICTURES and LABELS are .npy (u8 [N, H, W, C], integers), ORDER a text of sample numbers, one per line
and batch after batch. Keys: kind (sgd, adamw), rate, momentum, nesterov, decay, smoothing, mean, std (a list by commas).
Writes a line "key value …" per setting, then per step "step loss64 loss32". Needs numpy, onnx and torch.
"""
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


class Network:
    """An ONNX graph as it trains: parameters are its float initializers, batch normalisation is by the batch."""

    def __init__(self, path, dtype):
        graph = onnx.load(path).graph
        self.nodes, self.dtype, self.is_training = graph.node, dtype, True
        self.input = next(i.name for i in graph.input if i.name not in {t.name for t in graph.initializer})
        self.output = graph.output[0].name
        self.values, self.parameters, self.fixed = {}, {}, {}
        for tensor in graph.initializer:
            array = numpy_helper.to_array(tensor)
            if array.dtype.kind != "f":
                self.fixed[tensor.name] = array
                continue
            value = torch.tensor(array, dtype=dtype)
            statistic = any(n.op_type == "BatchNormalization" and tensor.name in n.input[3:5] for n in self.nodes)
            if not statistic and value.dim() > 0 and "pad" not in tensor.name:
                value.requires_grad_()
                self.parameters[tensor.name] = value
            self.values[tensor.name] = value

    def integers(self, name):
        return [int(i) for i in self.fixed[name].reshape(-1)]

    def __call__(self, x):
        values = dict(self.values)
        values[self.input] = x
        for node in self.nodes:
            a = {at.name: onnx.helper.get_attribute_value(at) for at in node.attribute}
            op, names = node.op_type, list(node.input)
            i = [values.get(n) for n in names]
            if op == "Conv":
                pads = a.get("pads", [0, 0, 0, 0])
                assert pads[:2] == pads[2:]
                y = F.conv2d(i[0], i[1], i[2] if len(i) > 2 else None, a.get("strides", 1), pads[:2],
                             a.get("dilations", 1), a.get("group", 1))
            elif op == "BatchNormalization":
                y = F.batch_norm(i[0], i[3], i[4], i[1], i[2], self.is_training, 1 - a.get("momentum", 0.9), a.get("epsilon", 1e-5))
            elif op == "Relu":
                y = F.relu(i[0])
            elif op == "Add":
                y = i[0] + i[1]
            elif op == "Gemm":
                b = i[1].t() if a.get("transB") else i[1]
                y = i[0] @ b + (i[2] if len(i) > 2 else 0)
            elif op == "Flatten":
                y = i[0].flatten(1)
            elif op == "GlobalAveragePool":
                y = i[0].mean((2, 3), keepdim=True)
            elif op == "MaxPool":
                y = F.max_pool2d(i[0], a["kernel_shape"], a.get("strides"), a.get("pads", [0, 0])[:2])
            elif op == "Slice":
                starts, ends, axes = (self.integers(n) for n in names[1:4])
                steps = self.integers(names[4]) if len(names) > 4 else [1] * len(starts)
                index = [slice(None)] * i[0].dim()
                for s, e, axis, step in zip(starts, ends, axes, steps):
                    index[axis] = slice(s, min(e, i[0].shape[axis]), step)
                y = i[0][tuple(index)]
            elif op == "Pad":
                pads = self.integers(names[1])
                rank = len(pads) // 2
                y = F.pad(i[0], [p for d in reversed(range(rank)) for p in (pads[d], pads[d + rank])])
            elif op in ("Reshape", "LogSoftmax", "Softmax"):
                y = i[0].reshape(i[0].shape[0], -1) if op == "Reshape" else i[0]
            else:
                raise SystemExit(f"no {op} here")
            values[node.output[0]] = y
        return values[self.output].reshape(x.shape[0], -1)


def curve(dtype, model, pictures, labels, order, batch, steps, settings):
    network = Network(model, dtype)
    weights = list(network.parameters.values())
    rate, decay = float(settings.get("rate", 0.01)), float(settings.get("decay", 0))
    if settings.get("kind", "sgd") == "adamw":
        optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=decay)
    else:
        optimizer = torch.optim.SGD(weights, lr=rate, momentum=float(settings.get("momentum", 0.9)), weight_decay=decay,
                                    nesterov=settings.get("nesterov") == "true")
    channels = pictures.shape[3]
    mean = torch.tensor([float(v) for v in settings.get("mean", ",".join(["0"] * channels)).split(",")], dtype=dtype)
    std = torch.tensor([float(v) for v in settings.get("std", ",".join(["1"] * channels)).split(",")], dtype=dtype)
    losses = []
    for step in range(steps):
        chosen = order[step * batch:(step + 1) * batch]
        x = (torch.tensor(pictures[chosen]).to(dtype) / 255 - mean) / std
        loss = F.cross_entropy(network(x.permute(0, 3, 1, 2)), torch.tensor(labels[chosen].astype(np.int64)),
                               label_smoothing=float(settings.get("smoothing", 0)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    model, pictures, labels, order, batch, steps = sys.argv[1:7]
    settings = dict(word.split("=", 1) for word in sys.argv[7:])
    pictures, labels = np.load(pictures), np.load(labels)
    if pictures.ndim == 3:
        pictures = pictures[..., None]
    order = [int(line) for line in open(order, encoding="ascii").read().split()]
    batch, steps = int(batch), int(steps)
    curves = [curve(dtype, model, pictures, labels, order, batch, steps, settings)
              for dtype in (torch.float64, torch.float32)]
    for key, value in sorted({**settings, "batch": batch, "steps": steps}.items()):
        print(key, value)
    for step, (wide, narrow) in enumerate(zip(*curves)):
        print(step, repr(wide), repr(narrow))


if __name__ == "__main__":
    main()
