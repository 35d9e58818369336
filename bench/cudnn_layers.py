#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50's convolutions with ReLU by PyTorch and cuDNN, in float32 without tensor cores' rounding or in float16, as CSV.

    bench/cudnn_layers.py [float16] [BATCH…]

Ten launches are recorded as one graph, so that Python's time stays out; the median of 15 replays, channels last and first,
whichever is faster.
"""
import statistics
import sys

import torch

# name, channels, size, outputs, kernel, stride, padding: bench/layers.cpp
LAYERS = [("conv1", 3, 224, 64, 7, 2, 3), ("res2_1x1a", 64, 56, 64, 1, 1, 0), ("res2_3x3", 64, 56, 64, 3, 1, 1),
          ("res2_1x1c", 64, 56, 256, 1, 1, 0), ("res2_1x1b", 256, 56, 64, 1, 1, 0), ("res3_down", 256, 56, 512, 1, 2, 0),
          ("res3_1x1a", 256, 56, 128, 1, 1, 0), ("res3_3x3s2", 128, 56, 128, 3, 2, 1), ("res3_1x1c", 128, 28, 512, 1, 1, 0),
          ("res3_1x1b", 512, 28, 128, 1, 1, 0), ("res3_3x3", 128, 28, 128, 3, 1, 1), ("res4_down", 512, 28, 1024, 1, 2, 0),
          ("res4_1x1a", 512, 28, 256, 1, 1, 0), ("res4_3x3s2", 256, 28, 256, 3, 2, 1), ("res4_1x1c", 256, 14, 1024, 1, 1, 0),
          ("res4_1x1b", 1024, 14, 256, 1, 1, 0), ("res4_3x3", 256, 14, 256, 3, 1, 1), ("res5_down", 1024, 14, 2048, 1, 2, 0),
          ("res5_1x1a", 1024, 14, 512, 1, 1, 0), ("res5_3x3s2", 512, 14, 512, 3, 2, 1), ("res5_1x1c", 512, 7, 2048, 1, 1, 0),
          ("res5_1x1b", 2048, 7, 512, 1, 1, 0), ("res5_3x3", 512, 7, 512, 3, 1, 1)]
RUNS, REPLAYS = 10, 15


def replay_us(run):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(RUNS):
            run()
    times = []
    for replay in range(3 + REPLAYS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        if replay >= 3:
            times.append(begin.elapsed_time(end) * 1e3 / RUNS)
    return statistics.median(times)


def layer_us(layer, batch, layout, dtype):
    _, channels, size, outputs, kernel, stride, padding = layer
    image = torch.randn(batch, channels, size, size, device="cuda", dtype=dtype).to(memory_format=layout)
    weight = torch.randn(outputs, channels, kernel, kernel, device="cuda", dtype=dtype).to(memory_format=layout)
    return replay_us(lambda: torch.relu_(torch.nn.functional.conv2d(image, weight, None, stride, padding)))


def main():
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    dtype = torch.float16 if "float16" in sys.argv[1:] else torch.float32
    batches = [int(argument) for argument in sys.argv[1:] if argument != "float16"]
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print("layer,batch,channels_first_us,channels_last_us,best_us")
    with torch.no_grad():
        for batch in batches or [1]:
            for layer in LAYERS:
                first, last = (layer_us(layer, batch, f, dtype) for f in (torch.contiguous_format, torch.channels_last))
                print(f"{layer[0]},{batch},{first:.2f},{last:.2f},{min(first, last):.2f}", flush=True)


if __name__ == "__main__":
    main()
