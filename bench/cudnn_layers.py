#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50's convolutions and their gradients by PyTorch and cuDNN, as CSV, measured as bench_gpu_layers measures.

    bench/cudnn_layers.py [--type float16] [--direction forward] [--epilogue plain] [--graph] [--list odd] [--only LAYER] BATCH…

Each run is timed by events behind a memset of 256 MB, which flushes the second-level cache; with --graph 50 runs are one
graph, and what they read is in the cache. Median, 10th and 90th percentile of 15; channels last, which is what cuDNN's tensor
cores take, and for float32 channels first too, whichever is faster.
"""
import argparse
import statistics

import torch

import cudnn_int8
import odd_layers
import resnet50

GRAPH_RUNS, REPLAYS, WARM_UPS = 50, 15, 3
FLUSH_BYTES = 256 << 20


def timed(prepare, run):
    """Microseconds of every run between events, the warm-ups left out."""
    times = []
    for replay in range(WARM_UPS + REPLAYS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        prepare()
        begin.record()
        run()
        end.record()
        end.synchronize()
        if replay >= WARM_UPS:
            times.append(begin.elapsed_time(end) * 1e3)
    return times


def flushed_us(run, flush):
    for _ in range(WARM_UPS):  # cuDNN tries its algorithms
        run()
    return timed(flush.zero_, run)


def graph_us(run, _):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH_RUNS):
            run()
    return [time / GRAPH_RUNS for time in timed(lambda: None, graph.replay)]


def profiled(run, _):
    """Nothing is timed: one run, after cuDNN's choice, between the marks of a profiler that starts on demand."""
    for _ in range(WARM_UPS):
        run()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    run()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    return [0.0]


def work(layer, batch, layout, args):
    """The layer as a function of nothing."""
    _, dims, channels, size, outputs, kernel, stride, dilation, padding, groups = layer
    dtype = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(args.type, torch.float32)
    sizes = [odd_layers.FRONT] * (dims > 2) + [size] * min(dims, 2)
    formats = {2: layout, 3: torch.channels_last_3d if layout == torch.channels_last else layout}

    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=dtype).to(memory_format=formats.get(dims, torch.contiguous_format))
    image, weight = tensor(batch, channels, *sizes), tensor(outputs, channels // groups, *[kernel] * dims)
    conv = [torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d][dims - 1]
    result = conv(image, weight, None, stride, padding, dilation, groups)
    if args.direction != "forward":
        error, wanted = torch.randn_like(result), [args.direction == d for d in ("input_gradient", "filter_gradient")]
        return lambda: torch.ops.aten.convolution_backward(error, image, weight, None, [stride] * dims, [padding] * dims,
                                                           [dilation] * dims, False, [0] * dims, groups, wanted + [False])
    bias, added = torch.randn(outputs, device="cuda", dtype=dtype), torch.randn_like(result)
    if args.epilogue == "relu":
        return lambda: torch.cudnn_convolution_relu(image, weight, bias, [stride] * dims, [padding] * dims, [dilation] * dims, groups)
    if args.epilogue == "full":
        return lambda: torch.cudnn_convolution_add_relu(image, weight, added, 1.0, bias, [stride] * dims, [padding] * dims,
                                                         [dilation] * dims, groups)
    return lambda: conv(image, weight, None, stride, padding, dilation, groups)


def layers_of(name):
    return odd_layers.LAYERS if name == "odd" else resnet50.GENERAL


def best_times(layer, batch, args, measure, flush):
    """Of the fastest layout or algorithm; nothing where cuDNN does not take the layer."""
    if args.type == "int8":
        return cudnn_int8.layer_times(resnet50.LAYERS[resnet50.GENERAL.index(layer)], batch, lambda run: measure(run, flush))
    layouts = [torch.channels_last] + [torch.contiguous_format] * (args.type == "float32")
    return min((measure(work(layer, batch, layout, args), flush) for layout in layouts), key=statistics.median)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", default="float32", choices=["float16", "bfloat16", "tf32", "float32", "int8"])
    parser.add_argument("--direction", default="forward", choices=["forward", "input_gradient", "filter_gradient"])
    parser.add_argument("--epilogue", default="plain", choices=["plain", "relu", "full"])
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--profile", action="store_true", help="run every layer once under a profiler instead of timing it")
    parser.add_argument("--only", help="one layer of the list")
    parser.add_argument("--list", default="resnet50", choices=["resnet50", "odd"])
    parser.add_argument("batches", type=int, nargs="*", default=[1])
    args = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.type == "tf32"
    torch.backends.cudnn.benchmark = True
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {args.type}, "
          f"{args.epilogue}, {'in a graph' if args.graph else 'cache flushed'}{' list odd' if args.list == 'odd' else ''}")
    print("layer,batch,direction,us,p10_us,p90_us")
    measure = profiled if args.profile else graph_us if args.graph else flushed_us
    with torch.no_grad():
        for batch in args.batches:
            for layer in [one for one in layers_of(args.list) if args.only in (None, one[0])]:
                best = best_times(layer, batch, args, measure, flush)
                if best is None:
                    continue
                best = sorted(best)
                print(f"{layer[0]},{batch},{args.direction},{statistics.median(best):.2f},{best[len(best) // 10]:.2f},"
                      f"{best[len(best) * 9 // 10]:.2f}", flush=True)


if __name__ == "__main__":
    main()
