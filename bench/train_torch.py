#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of ResNet-50 by PyTorch, the peer of `tilefuse train` on bench/resnet50_model.py.

    bench/train_torch.py TYPE[:FORM,…] [BATCH …]      float16 with a loss scaler, bfloat16 or float32

torchvision's model, channels last, cuDNN's autotuning, automatic mixed precision, SGD with momentum as one fused kernel. FORM is
eager, graph (a CUDA graph of the whole step; not with a loss scaler) or compile (torch.compile); without it all that there are.
CSV: type, form, batch, median, 10th and 90th percentile of 40 steps in milliseconds, MB that tensors took at most.
"""
import sys

import torch
import torchvision

WARM, STEPS = 8, 40


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


def training_step(dtype, batch, form):
    model = torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last)
    if form == "compile":
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=form != "graph",
                                foreach=form == "graph")
    images = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)

    def step():
        optimizer.zero_grad(set_to_none=form != "graph")
        with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
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
    kind, _, forms = sys.argv[1].partition(":")
    dtype = getattr(torch, kind)
    every = ["eager", "compile"] if kind == "float16" else ["eager", "graph", "compile"]
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print("type,form,batch,ms,p10_ms,p90_ms,mb")
    for batch in [int(word) for word in sys.argv[2:]] or [32, 128]:
        for form in forms.split(",") if forms else every:
            torch.cuda.reset_peak_memory_stats()
            times = timed(training_step(dtype, batch, form))
            most = torch.cuda.max_memory_allocated() / 1e6
            print("{},{},{},{:.3f},{:.3f},{:.3f},{:.0f}".format(kind, form, batch, *times, most), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
