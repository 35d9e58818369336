#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 in half precision by torch.compile, the peer of `tilefuse bench` on bench/resnet50_model.py.

    bench/resnet50_torch.py [BATCH …]        1, 32 and 256 unless named

torchvision's model with random weights, channels last, cuDNN's autotuning, mode reduce-overhead (a CUDA graph a run), random
input. CSV: batch, median, 10th and 90th percentile of 60 runs in milliseconds, each between two events of the device.
"""
import sys

import torch
import torchvision

WARM, RUNS = 10, 60


def timed(run):
    for _ in range(WARM):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(RUNS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    times.sort()
    return times[RUNS // 2], times[RUNS // 10], times[RUNS * 9 // 10]


def main():
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet50(weights=None).eval().half().cuda().to(memory_format=torch.channels_last)
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, torch.compile reduce-overhead, float16")
    print("batch,ms,p10_ms,p90_ms")
    for batch in [int(word) for word in sys.argv[1:]] or [1, 32, 256]:
        image = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)
        torch._dynamo.reset()
        compiled = torch.compile(model, mode="reduce-overhead")
        with torch.inference_mode():
            print("{},{:.4f},{:.4f},{:.4f}".format(batch, *timed(lambda: compiled(image))), flush=True)


if __name__ == "__main__":
    main()
