#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step by PyTorch on one GPU, the peer of `tilefuse train`.

    bench/train_torch.py NETWORK TYPE[:FORM,…] [BATCH …]

NETWORK is resnet20 (CIFAR's) or one of torchvision's, without dropout and stochastic depth; TYPE float16 with a loss scaler, bfloat16,
tf32 or float32. Channels last, cuDNN's autotuning, automatic mixed precision, SGD with momentum as one fused kernel. FORM is
eager, graph (a CUDA graph of the whole step; not with a loss scaler) or compile (torch.compile); without it all that there are.
CSV: network, type, form, batch, median, 10th and 90th percentile of 40 steps in milliseconds, MB that tensors took at most.
"""
import sys

import torch
import torchvision
from torch import nn

WARM, STEPS = 8, 40


def resnet20():
    """ResNet-20 as its paper has it for CIFAR-10, strides' shortcuts by 1x1 convolutions."""
    def conv(inputs, outputs, stride=1, size=3):
        return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.body = nn.Sequential(conv(inputs, outputs, stride), nn.ReLU(), conv(outputs, outputs))
            self.side = conv(inputs, outputs, stride, 1) if stride > 1 else nn.Identity()

        def forward(self, x):
            return torch.relu(self.body(x) + self.side(x))

    layers, inputs = [conv(3, 16), nn.ReLU()], 16
    for outputs in (16, 32, 64):
        for block in range(3):
            layers.append(Block(inputs, outputs, 2 if block == 0 and outputs > 16 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def network(name):
    """The network with random weights, the side of its pictures and its classes."""
    torch.manual_seed(0)
    if name == "resnet20":
        return resnet20(), 32, 10
    model = getattr(torchvision.models, name)(weights=None)
    for layer in model.modules():
        if isinstance(layer, (nn.Dropout, torchvision.ops.StochasticDepth)):
            layer.p = 0.0
    return model, 224, 1000


def timed(step):
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    times = []
    for _ in range(STEPS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    times.sort()
    return times[STEPS // 2], times[STEPS // 10], times[STEPS * 9 // 10]


def training_step(name, kind, batch, form):
    model, side, classes = network(name)
    model = model.cuda().to(memory_format=torch.channels_last)
    if form == "compile":
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=form != "graph",
                                foreach=form == "graph")
    images = torch.randn(batch, 3, side, side, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, classes, (batch,), device="cuda")
    scaler = torch.amp.GradScaler("cuda", enabled=kind == "float16")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
    mixed = getattr(torch, kind) if kind in ("float16", "bfloat16") else None

    def step():
        optimizer.zero_grad(set_to_none=form != "graph")
        with torch.autocast("cuda", dtype=mixed, enabled=mixed is not None):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return recorded(step) if form == "graph" else step


def recorded(step):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(WARM):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main():
    torch.backends.cudnn.benchmark = True
    name, (kind, _, forms) = sys.argv[1], sys.argv[2].partition(":")
    every = ["eager", "compile"] if kind == "float16" else ["eager", "graph", "compile"]
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print("network,type,form,batch,ms,p10_ms,p90_ms,mb")
    for batch in [int(word) for word in sys.argv[3:]] or [32, 128]:
        for form in forms.split(",") if forms else every:
            torch.cuda.reset_peak_memory_stats()
            times = timed(training_step(name, kind, batch, form))
            most = torch.cuda.max_memory_allocated() / 1e6
            print("{},{},{},{},{:.3f},{:.3f},{:.3f},{:.0f}".format(name, kind, form, batch, *times, most), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
