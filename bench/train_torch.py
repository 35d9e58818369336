#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of ResNet-50 by PyTorch, the peer of `tilefuse train` on bench/resnet50_model.py.

    bench/train_torch.py TYPE [BATCH …]      float16 with a loss scaler, bfloat16 or float32

torchvision's model, channels last, cuDNN's autotuning, automatic mixed precision, SGD with momentum as one fused kernel. CSV:
type, form (eager), batch, median, 10th and 90th percentile of 40 steps in milliseconds.
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


def eager(dtype, batch):
    model = torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
    images = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def main():
    torch.backends.cudnn.benchmark = True
    dtype = getattr(torch, sys.argv[1])
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print("type,form,batch,ms,p10_ms,p90_ms")
    for batch in [int(word) for word in sys.argv[2:]] or [32, 128]:
        print("{},eager,{},{:.3f},{:.3f},{:.3f}".format(sys.argv[1], batch, *timed(eager(dtype, batch))), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
