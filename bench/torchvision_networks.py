#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole networks of torchvision or timm in half precision on one GPU, beside PyTorch's best form, in turn in one call.

    bench/torchvision_networks.py PROGRAM OUT [--networks A,timm/B] [--batches 1,32] [--peers graph,compile] [--rounds 3] [--kernels]
        [--jobs N] [--wait SECONDS]

PROGRAM is a build or an unpacked archive of `scripts/bundle.sh`. Networks have random weights and are exported by
torch.onnx; both sides run on random pictures of 224 x 224, those of timm (`timm/NAME`, or `timm` for the hundred of
bench/timm_networks.py) on those of the side that they were made for. graph is eager PyTorch in a CUDA graph, compile is torch.compile in
mode reduce-overhead; both channels last, with cuDNN's autotuning. Networks are exported and compiled by N processes
side by side (one for each processor), and timed one after another when all are ready, or after SECONDS (1800) those that are.
OUT/torchvision.csv has a row per network, batch and round; --kernels also writes our kernels as OUT/NETWORK_BATCH.csv. Prints ratios of medians, their geometric mean and the worst.
"""
import argparse
import csv
import math
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torchvision

import timm_networks

TIMM = "timm/"
NETWORKS = ["resnet50", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "densenet121", "vgg16_bn", "shufflenet_v2_x1_0",
            "regnet_y_400mf", "mobilenet_v3_large", "resnext50_32x4d", "vit_b_16", "swin_t"]
RUNS = 60


def network(name):
    """A network and the side of its pictures."""
    if name.startswith(TIMM):
        return timm_networks.network(name.removeprefix(TIMM))
    torch.manual_seed(0)
    return getattr(torchvision.models, name)(weights=None).eval(), 224


def export(name, batch, path):
    model, side = network(name)
    torch.onnx.export(model, (torch.randn(batch, 3, side, side),), path, dynamo=True, external_data=False, verbose=False)


class Peer:
    """A network of PyTorch's as something to call."""

    def __init__(self, name, batch, form):
        model, side = network(name)
        self.model = model.half().cuda().to(memory_format=torch.channels_last)
        self.image = torch.randn(batch, 3, side, side, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)
        with torch.inference_mode():
            self.run = self.recorded() if form == "graph" else self.compiled()

    def compiled(self):
        torch._dynamo.reset()
        model = torch.compile(self.model, mode="reduce-overhead")
        return lambda: model(self.image)

    def recorded(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.model(self.image)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.model(self.image)
        return graph.replay

    def ms(self):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        times = []
        with torch.inference_mode():
            for turn in range(RUNS + 10):
                begin.record()
                self.run()
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end))
        return statistics.median(times[10:])


class Ours:
    """A network of PyTorch's exported, and run by `tilefuse bench`."""

    def __init__(self, program, name, batch, scratch):
        file = f"{scratch}/{name.replace('/', '_')}_{batch}"
        self.model = f"{file}.onnx"
        export(name, batch, self.model)
        self.command = [f"{program}/bin/tilefuse", "bench", self.model, "--device", "cuda", "--precision", "f16", "--no-records"]
        self.env = dict(os.environ, TILEFUSE_CACHE=f"{file}.sqlite")

    def bench(self, *options):
        done = subprocess.run([*self.command, *options], env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit code {done.returncode}")
        return done.stdout

    def ms(self):
        return float(re.search(r"median ([\d.]+) ms", self.bench("--repeat", str(RUNS))).group(1))


def sides(args, name, batch, scratch):
    yield "tilefuse", Ours(args.program, name, batch, scratch)
    for form in args.peers:
        yield form, Peer(name, batch, form)


def measured(args, name, batch, scratch, turn):
    """A process of one network: says that all its sides are ready, waits for its turn, and sends its rows."""
    torch.backends.cudnn.benchmark = True
    try:
        ready = dict(sides(args, name, batch, scratch))
        for run in ready.values():
            run.ms()
        turn.send(None)
        turn.recv()
        if args.kernels:
            ready["tilefuse"].bench("--repeat", "20", "--sort", "launch", "--csv", f"{args.out}/{name.replace('/', '_')}_{batch}.csv")
        turn.send([(side, round_, run.ms()) for round_ in range(args.rounds) for side, run in ready.items()])
    except Exception as error:  # one network less; said, and the others go on
        turn.send(f"{type(error).__name__}: {error}")


def prepared(args, scratch):
    """The processes of all networks, as many at a time as there are processors, every one ready to be timed."""
    spawn = multiprocessing.get_context("spawn")
    waiting = [(name, batch) for name in args.networks for batch in map(int, args.batches)]
    processes = {}
    running, ready, limit = {}, {}, time.monotonic() + args.wait
    while (waiting or running) and time.monotonic() < limit:
        while waiting and len(running) < args.jobs:
            name, batch = waiting.pop(0)
            here, there = spawn.Pipe()
            process = spawn.Process(target=measured, args=(args, name, batch, scratch, there))
            process.start()
            there.close()
            running[here] = (name, batch)
            processes[name, batch] = process
        for pipe in multiprocessing.connection.wait(list(running), max(0, limit - time.monotonic())):
            try:
                said = pipe.recv()
            except EOFError:
                said = "the process ended"
            if said is None:
                ready[running[pipe]] = pipe
            else:
                print("{:32} {:4} failed: {}".format(*running[pipe], said), flush=True)
            del running[pipe]
    for late in [*running.values(), *waiting]:
        print("{:32} {:4} was not ready in time".format(*late), flush=True)
        if late in processes:
            processes[late].kill()
    return {key: ready[key] for key in processes if key in ready}


def report(name, batch, medians, ratios):
    mine = medians.pop("tilefuse")
    text = f"{name:32} {batch:4} {mine:8.3f} ms"
    if medians:
        best = min(medians, key=medians.get)
        ratios[name, batch] = medians[best] / mine
        text += f"  {best} {medians[best]:.3f}, {ratios[name, batch]:.2f} times ours"
    print(text, flush=True)


def words(text):
    return [word for word in text.split(",") if word]


def networks(text):
    every = [TIMM + name for name in timm_networks.NAMES]
    return [name for word in words(text) for name in (every if word == "timm" else [word])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--networks", type=networks, default=NETWORKS)
    parser.add_argument("--batches", type=words, default=["1", "32"])
    parser.add_argument("--peers", type=words, default=["graph", "compile"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--wait", type=float, default=1800)
    args = parser.parse_args()
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, float16, {RUNS} runs a round, {args.rounds} rounds")
    ratios = {}
    with open(args.out / "torchvision.csv", "w") as file, tempfile.TemporaryDirectory() as scratch:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["network", "batch", "side", "round", "ms"])
        for (name, batch), turn in prepared(args, scratch).items():
            turn.send(None)
            found = turn.recv()
            if isinstance(found, str):
                print(f"{name:32} {batch:4} failed: {found}", flush=True)
                continue
            rows.writerows([name, batch, side, round_, f"{ms:.4f}"] for side, round_, ms in found)
            file.flush()
            report(name, batch, {side: statistics.median(ms for who, _, ms in found if who == side) for side, _, _ in found}, ratios)
    if ratios:
        worst = min(ratios, key=ratios.get)
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        print(f"geometric mean {mean:.2f}, worst {ratios[worst]:.2f} ({worst[0]} at {worst[1]})")


if __name__ == "__main__":
    sys.exit(main())
