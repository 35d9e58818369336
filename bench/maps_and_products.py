#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pointwise maps and batched products of odd sizes in half precision on a GPU, beside a copy and beside cuBLAS through PyTorch.

    bench/maps_and_products.py PROGRAM OUT.csv [--rounds 3] [--only WORD] [--counters]

PROGRAM is a build or an unpacked archive of scripts/bundle.sh. A map counts by the bytes that it reads and writes a second, as
a share of a copy's of as many bytes; a product by cuBLAS's time over ours. Both sides run as CUDA graphs, in turn: ours of one
run, by `tilefuse bench`, PyTorch's of one call into a tensor that is there. Tensors of maps have 51 million elements, more
than the caches hold; a product's are as large as they are. A row says what bounds it: memory, where reading and writing
everything once at the copy's rate takes longer than multiplying at the peak, else the multiplications, and the share of that bound. With
--counters the kernels below their goal are run under ncu, which says how busy memory, second-level cache and tensor cores were.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

import cudnn_layers
import gpu_counters

HALF_PEAK = 989e12  # operations a second of tensor cores, as NVIDIA states it for H100 and H200
COPY_SHARE, CUBLAS_SHARE = 0.8, 0.9  # goals
N, H, C = 64, 56, 256  # of the maps' tensors, channels last
ERF = "erf(cast_f32(X)*0.7071067811865476)"
BELL = "exp(-0.5*cast_f32(X)*cast_f32(X))*0.3989422804014327"

# name, parameters, f16 result, PyTorch's way; x, y and z are tensors of N * H * H rows of C, s and b rows of C in f32, g one of each image
MAPS = [("relu", "X", "max(cast_f32(X), 0)", lambda t: F.relu(t["x"])),
        ("gelu", "X", f"0.5*cast_f32(X)*(1 + {ERF})", lambda t: F.gelu(t["x"])),
        ("silu", "X", "cast_f32(X)/(1 + exp(-cast_f32(X)))", lambda t: F.silu(t["x"])),
        ("hardswish", "X", "cast_f32(X)*max(min(cast_f32(X)*0.16666667 + 0.5, 1), 0)", lambda t: F.hardswish(t["x"])),
        ("bias_gelu", "XB", f"0.5*(cast_f32(X) + B)*(1 + erf((cast_f32(X) + B)*0.7071067811865476))", lambda t: F.gelu(t["x"] + t["b"])),
        ("batch_norm", "XSB", "cast_f32(X)*S + B", lambda t: t["x"] * t["s"] + t["b"]),
        ("batch_norm_relu", "XSB", "max(cast_f32(X)*S + B, 0)", lambda t: F.relu(t["x"] * t["s"] + t["b"])),
        ("sum_relu", "XY", "max(cast_f32(X) + cast_f32(Y), 0)", lambda t: F.relu(t["x"] + t["y"])),
        ("relu_mask", "XY", "cast_f32(X) > 0 ? cast_f32(Y) : 0", lambda t: torch.where(t["x"] > 0, t["y"], 0)),
        ("gelu_gradient", "XY", f"cast_f32(Y)*(0.5*(1 + {ERF}) + cast_f32(X)*{BELL})", lambda t: torch.ops.aten.gelu_backward(t["y"], t["x"])),
        ("silu_gradient", "XY", "cast_f32(Y)*(1 + cast_f32(X)*(1 - 1/(1 + exp(-cast_f32(X)))))/(1 + exp(-cast_f32(X)))",
         lambda t: torch.ops.aten.silu_backward(t["y"], t["x"])),
        ("batch_norm_gradient", "XYSB", "cast_f32(Y)*S + cast_f32(X)*B", lambda t: t["y"] * t["s"] + t["x"] * t["b"]),
        ("gate", "XG", "cast_f32(X)*cast_f32(G)", lambda t: t["x"] * t["g"]),
        ("multiply_add", "XYZ", "cast_f32(X)*cast_f32(Y) + cast_f32(Z)", lambda t: torch.addcmul(t["z"], t["x"], t["y"]))]

# name, batch, m, n, k, whether the right factor's rows are its columns
PRODUCTS = [("scores_197", 384, 197, 197, 64, True), ("values_197", 384, 197, 64, 197, False), ("scores_49", 2048, 49, 49, 32, True),
            ("values_49", 2048, 49, 32, 49, False), ("scores_577", 96, 577, 577, 64, True), ("values_577", 96, 577, 64, 577, False),
            ("odd_all", 128, 101, 203, 55, False), ("odd_all_turned", 128, 101, 203, 55, True), ("odd_k", 64, 256, 256, 147, False),
            ("odd_n", 64, 256, 147, 256, False), ("one_147", 1, 3136, 147, 64, False), ("prime_1009", 1, 1009, 1009, 1009, False)]


def map_shape(letter):
    shapes = {"S": f"f32[1, 1, {C}]", "B": f"f32[1, 1, {C}]", "G": f"f16[{N}, 1, {C}]"}
    return shapes.get(letter, f"f16[{N}, {H * H}, {C}]")


class Row:
    """Something to time: a Tile function with its tensors, and PyTorch's way."""

    def __init__(self, name, text, tensors, peer, goal):
        self.name, self.text, self.tensors, self.peer, self.goal = name, text, tensors, peer, goal

    def command(self, program, scratch, *options):
        path = f"{scratch}/{self.name}.tile"
        pathlib.Path(path).write_text(self.text)
        shapes = [word for name, shape in self.tensors for word in ("--tensor", f"{name}={shape}")]
        return [f"{program}/bin/tilefuse", "bench", path, *shapes, "--device", "cuda", "--no-records", *options]

    def ours(self, program, scratch):
        done = subprocess.run(self.command(program, scratch, "--repeat", "60", "--json"), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def map_row(name, letters, value, way):
    named = ", ".join(f"{letter}[N{letter}, H{letter}, C{letter}]" for letter in letters)
    half, rows = dict(device="cuda", dtype=torch.half), dict(device="cuda", dtype=torch.float32)
    make = {"x": lambda: torch.randn(N, H * H, C, **half), "s": lambda: torch.randn(C, **rows), "g": lambda: torch.randn(N, 1, C, **half)}
    make |= {"y": make["x"], "z": make["x"], "b": make["s"]}

    def peer():
        tensors = {letter.lower(): make[letter.lower()]() for letter in letters}
        halves = {key: tensor.half() for key, tensor in tensors.items()}
        return lambda: way(halves)

    return Row(name, f"function f({named}) -> (O) {{ O = cast_f16({value}); }}\n", [(letter, map_shape(letter)) for letter in letters], peer, COPY_SHARE)


def product_row(name, batch, m, n, k, turned):
    right = "B[P, N, K]" if turned else "B[P, K, N]"
    read = "B[p, n, k]" if turned else "B[p, k, n]"
    text = f"function f(A[P, M, K], {right}) -> (O) {{ O[p, m, n : P, M, N] = +(A[p, m, k] * {read}); }}\n"
    shape = (batch, n, k) if turned else (batch, k, n)

    def peer():
        a, b = torch.randn(batch, m, k, device="cuda", dtype=torch.half), torch.randn(*shape, device="cuda", dtype=torch.half)
        out = torch.empty(batch, m, n, device="cuda", dtype=torch.half)
        return lambda: torch.bmm(a, b.transpose(1, 2) if turned else b, out=out)

    return Row(name, text, [("A", f"f16[{batch}, {m}, {k}]"), ("B", f"f16[{', '.join(map(str, shape))}]")], peer, CUBLAS_SHARE)


def graph(run):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        run()
    return recorded


def graph_us(run):
    recorded = graph(run)
    return statistics.median(time for _ in range(4) for time in cudnn_layers.timed(lambda: None, recorded.replay))


def copy_us(count):
    """Microseconds of a copy that reads and writes `count` bytes in all."""
    of, to = (torch.empty(count // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
    return graph_us(lambda: to.copy_(of))


def counted(row, program, scratch):
    """How busy the parts were in the kernel that took longest, as ncu says."""
    found = gpu_counters.counters(row.command(program, scratch, "--repeat", "1"), 60)
    if not found:
        return "no counters"
    longest = max(found.values(), key=lambda of: of["us"])
    return ", ".join(f"{part} {longest[f'{part}_share']:.0f} %" for part in ("memory", "cache", "tensor"))


def measured(row, args, scratch):
    ours, peers, copies = [], [], []
    peer = row.peer()
    for _ in range(args.rounds):
        ours.append(row.ours(args.program, scratch))
        peers.append(graph_us(peer))
        copies.append(copy_us(int(sum(kernel["bytes"] for kernel in ours[0]["kernels"]))))
    us, peer_us, copied = statistics.median(one["median_seconds"] * 1e6 for one in ours), statistics.median(peers), statistics.median(copies)
    multiplied = sum(kernel["flops"] for kernel in ours[0]["kernels"]) / HALF_PEAK * 1e6
    is_map = row.goal == COPY_SHARE
    bound = "multiplications" if not is_map and multiplied > copied else "memory"
    share = (multiplied if bound == "multiplications" else copied) / us
    ratio = copied / us if is_map else peer_us / us
    kinds = "+".join(kernel["schedule"] for kernel in ours[0]["kernels"])
    busy = counted(row, args.program, scratch) if args.counters and ratio < row.goal else ""
    return [row.name, f"{us:.2f}", f"{peer_us:.2f}", f"{copied:.2f}", f"{ratio:.3f}", f"{row.goal}", f"{bound} {share:.2f}", kinds, busy]


def report(name, ratios, goal):
    worst = min(ratios, key=ratios.get)
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    short = ", ".join(f"{key} {ratio:.2f}" for key, ratio in ratios.items() if ratio < goal) or "none"
    print(f"{name}: geometric mean {mean:.2f}, worst {ratios[worst]:.2f} ({worst}), below {goal}: {short}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--counters", action="store_true")
    args = parser.parse_args()
    rows = [map_row(*of) for of in MAPS] + [product_row(*of) for of in PRODUCTS]
    ratios = {COPY_SHARE: {}, CUBLAS_SHARE: {}}
    with args.out.open("w") as file, tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("TILEFUSE_CACHE", f"{scratch}/kernels.sqlite")
        print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, float16, {args.rounds} rounds", file=file)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["row", "us", "peer_us", "copy_us", "ratio", "goal", "bound", "schedule", "counters"])
        for row in rows:
            if args.only not in row.name:
                continue
            cells = measured(row, args, scratch)
            table.writerow(cells)
            file.flush()
            ratios[row.goal][row.name] = float(cells[4])
            print("{:20} {:>8} us  PyTorch {:>8}  copy {:>8}  ratio {} of {}  {}  {} {}".format(*cells), flush=True)
    for name, goal in (("maps, of a copy", COPY_SHARE), ("products, of cuBLAS", CUBLAS_SHARE)):
        if ratios[goal]:
            report(name, ratios[goal], goal)


if __name__ == "__main__":
    sys.exit(main())
