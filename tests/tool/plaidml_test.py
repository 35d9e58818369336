#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tilefuse explain --cost plaidml` against kernels that PlaidML generated for public networks on AMD devices: the tile it chose,
the ten statistics, the elements of each shared array and the groups it launched, one row a kernel."""
import re
import unittest
from dataclasses import dataclass

from support import ToolTest, main

STATISTICS = "to wg il sm or mr mw op rp tu".split()


@dataclass
class Kernel:
    text: str
    tensors: dict
    tile: list
    statistics: list
    shared: list
    groups: list


def conv1x1(channels_in, channels_out, size, is_scaled):
    text = "O[n, x0, x1, co : N, X0, X1, CO] = +(I[n, x0, x1, ci] * K[ci, co]);"
    tensors = {"I": [1, size, size, channels_in], "K": [channels_in, channels_out]}
    if not is_scaled:
        return f"function conv(I[N, X0, X1, CI], K[CI, CO]) -> (O) {{ {text} }}", tensors
    tensors.update(A=[channels_out], B=[channels_out])
    return f"function conv(I[N, X0, X1, CI], K[CI, CO], A[CO], B[CO]) -> (R) {{ {text} P = O - A; R = P * B; }}", tensors


def depthwise(channels, kernel, size_in, size_out):
    text = (f"function depthwise(I[N, H, W, G], K[K0, K1, G, M]) -> (O) {{ O[n, x0, x1, g, m : N, {size_out}, {size_out}, G, M] = "
            "+(I[n, k0 + 2*x0, k1 + 2*x1, g] * K[k0, k1, g, m]); }")
    return text, {"I": [1, size_in, size_in, channels], "K": [kernel, kernel, channels, 1]}


def pool(aggregation, channels, kernel, size_in, size_out):
    text = (f"function pool(I[N, H, W, C]) -> (O) {{ O[n, x0, x1, c : N, {size_out}, {size_out}, C] = "
            f"{aggregation}(I[n, k0 + 2*x0, k1 + 2*x1, c]), k0 < {kernel}, k1 < {kernel}; }}")
    return text, {"I": [1, size_in, size_in, channels]}


def mean(channels, size):
    text = "function mean(I[N, H, W, C]) -> (R) { S[x0, x3 : N, C] = +(I[x0, x1, x2, x3]); R = S / 49.0; }"
    return text, {"I": [1, size, size, channels]}


def normalise_relu(channels, size):
    text = "function norm(X[N, H, W, C], V[C], B[C]) -> (R) { D = X / V; S = D + B; R = (S < 0 ? 0 : S); }"
    return text, {"X": [1, size, size, channels], "V": [channels], "B": [channels]}


AVERAGE = "S[n, x0, x1, c : N, H, W, C] = +(I[n, k0 + x0 - 1, k1 + x1 - 1, c]), k0 < 3, k1 < 3; P = D / S;"
DENSE = "O[x0, y1 : M, Y] = +(A[x0, z] * B[z, y1]);"

KERNELS = {
    "1x1 1792 to 896": Kernel(*conv1x1(1792, 896, 14, False), [64, 64, 14, 4],
                              [629407744, 56, 28, 31216, 14336, 30720, 14336, 256, 0, 256], [3644, 4160], [14, 4]),
    "1x1 1280 to 640": Kernel(*conv1x1(1280, 640, 14, False), [64, 64, 14, 4],
                              [321126400, 40, 20, 31216, 14336, 30720, 14336, 256, 0, 256], [3644, 4160], [10, 4]),
    "1x1 1280 to 128, scaled": Kernel(*conv1x1(1280, 128, 14, True), [64, 32, 14, 4],
                                      [128450560, 16, 20, 22896, 7168, 22976, 7168, 256, 0, 256], [3644, 2080], [4, 4]),
    "1x1 384 to 64, scaled": Kernel(*conv1x1(384, 64, 14, True), [128, 32, 14, 2],
                                    [19267584, 14, 3, 30968, 4096, 30944, 3584, 256, 0, 256], [3614, 4128], [7, 2]),
    "1x1 384 to 96, scaled": Kernel(*conv1x1(384, 96, 14, True), [128, 32, 14, 2],
                                    [28901376, 21, 3, 30968, 4096, 30944, 3584, 256, 0, 256], [3614, 4128], [3, 7]),
    "1x1 576 to 96, scaled": Kernel(*conv1x1(576, 96, 14, True), [64, 32, 14, 2],
                                    [43352064, 21, 9, 15608, 4096, 15584, 3584, 256, 0, 256], [1822, 2080], [3, 7]),
    "1x1 1056 to 176, scaled": Kernel(*conv1x1(1056, 176, 7, True), [32, 32, 7, 4],
                                      [36427776, 12, 33, 7824, 4096, 7904, 3584, 256, 0, 256], [900, 1056], [6, 2]),
    "1x1 96 to 42, scaled": Kernel(*conv1x1(96, 42, 83, True), [32, 42, 8, 8],
                                   [111105792, 121, 3, 13856, 16384, 14592, 16384, 256, 0, 256], [2120, 1344], [11, 11]),
    "depthwise 32 7x7": Kernel(*depthwise(32, 7, 117, 56), [32, 4, 7, 4, 8],
                               [9834496, 98, 2, 30504, 4096, 30464, 4096, 256, 0, 256], [6730, 896], [7, 14]),
    "depthwise 88 7x7": Kernel(*depthwise(88, 7, 33, 14), [32, 4, 7, 2, 14],
                               [1690304, 21, 2, 29168, 4096, 28928, 3584, 256, 0, 256], [6368, 924], [3, 7]),
    "depthwise 128 3x3": Kernel(*depthwise(128, 3, 57, 28), [32, 1, 3, 4, 28],
                                [1806336, 28, 3, 29584, 14336, 29568, 14336, 256, 0, 256], [7300, 96], [7, 4]),
    "max pool 256": Kernel(*pool(">", 256, 2, 56, 28), [128, 1, 1, 28, 1],
                           [1605632, 56, 4, 14448, 16384, 14336, 14336, 256, 0, 256], [3612], [28, 2]),
    "sum pool 256": Kernel(*pool("+", 256, 2, 28, 14), [128, 2, 1, 14, 1],
                           [401408, 28, 2, 14448, 8192, 14336, 7168, 256, 0, 256], [3612], [14, 2]),
    "sum pool 672": Kernel(*pool("+", 672, 3, 23, 11), [256, 3, 1, 11, 1],
                           [1463616, 33, 3, 23552, 16384, 23552, 11264, 256, 0, 256], [5888], [3, 11]),
    "padded sum pool, two results": Kernel(
        f"function pool(I[N, H, W, C], D[N, H, W, C], E[N, H, W, C]) -> (S, R) {{ {AVERAGE} R = E + P; }}",
        {name: [1, 11, 11, 672] for name in "IDE"}, [256, 3, 1, 11, 1],
        [2927232, 33, 3, 13312, 16384, 14016, 22528, 256, 0, 256], [3328], [3, 11]),
    "padded sum pool": Kernel(f"function pool(I[N, H, W, C], D[N, H, W, C]) -> (R) {{ {AVERAGE} R = P + P; }}",
                              {name: [1, 11, 11, 672] for name in "ID"}, [256, 3, 1, 11, 1],
                              [2927232, 33, 3, 13312, 16384, 13664, 11264, 256, 0, 256], [3328], [3, 11]),
    "sum of everything": Kernel("function total(I[A, B, C]) -> (O) { O[a : 1] = +(I[a, x1, x2]); }", {"I": [1, 80, 128]}, [4, 128],
                                [20480, 1, 20, 3072, 1024, 2048, 128, 256, 8, 256], [512], [1]),
    "mean 1024": Kernel(*mean(1024, 7), [7, 7, 32], [150528, 32, 1, 7296, 1024, 6272, 128, 256, 3, 256], [1568], [32]),
    "mean 1280": Kernel(*mean(1280, 7), [7, 7, 32], [188160, 40, 1, 7296, 1024, 6272, 128, 256, 3, 256], [1568], [40]),
    "mean 2048": Kernel(*mean(2048, 10), [10, 10, 32], [614400, 64, 1, 13952, 1024, 12800, 128, 256, 3, 256], [3232], [64]),
    "dense and bias": Kernel(f"function dense(A[M, Z], B[Z, Y], C[Y]) -> (R) {{ {DENSE} R = O + C; }}",
                             {"A": [1, 128], "B": [128, 128], "C": [128]}, [32, 128],
                             [49152, 4, 1, 18048, 1024, 16900, 128, 256, 3, 256], [128, 4128], [4]),
    "dense of a recurrent cell": Kernel(
        f"function dense(A[M, Z], B[Z, Y], C[M, Y], D[M, Y], E[M, Y], F[M, Y]) -> (R) {{ {DENSE} "
        "P = C + O; Q = tanh(P); S = D * Q; T = E + S; U = tanh(T); R = F * U; }",
        {"A": [1, 128], "B": [128, 128], **{name: [1, 128] for name in "CDEF"}}, [32, 128],
        [131072, 4, 1, 18048, 1024, 16912, 128, 256, 3, 256], [128, 4128], [4]),
    "element-wise 320": Kernel(*normalise_relu(320, 8), [1, 4, 1, 320], [81920, 16, 1, 0, 5120, 480, 5120, 256, 0, 256], [], [2, 8]),
    "element-wise 832": Kernel(*normalise_relu(832, 14), [1, 2, 14, 32], [652288, 182, 1, 0, 4096, 336, 3584, 256, 0, 256], [],
                               [7, 26]),
    "element-wise 1376": Kernel(*normalise_relu(1376, 7), [1, 1, 7, 128], [269696, 77, 1, 0, 4096, 336, 3584, 256, 0, 256], [],
                                [7, 11]),
    "element-wise 1184": Kernel(*normalise_relu(1184, 14), [1, 2, 14, 32], [928256, 259, 1, 0, 4096, 336, 3584, 256, 0, 256], [],
                                [7, 37]),
    "element-wise, two results": Kernel(
        "function scaled(A[N, H, W, C], B[N, H, W, C], V[C], S[C]) -> (P, R) { P = A + B; T = P - V; R = T * S; }",
        {"A": [1, 14, 14, 1184], "B": [1, 14, 14, 1184], "V": [1184], "S": [1184]}, [1, 2, 14, 32],
        [696192, 259, 1, 0, 4096, 448, 7168, 256, 0, 256], [], [7, 37]),
    "slice of a concatenation": Kernel("function slice(I[N, H, W, C]) -> (O) { O[n0, n1, n2, a + 288 : N, H, W, 320] = =(I[n0, n1, n2, a]); }",
                                       {"I": [1, 14, 14, 32]}, [32, 2, 4], [12544, 28, 1, 1032, 1024, 1024, 1024, 256, 0, 256], [258],
                                       [7, 4]),
    "wide slice": Kernel("function slice(I[N, H, W, C]) -> (O) { O[n0, n1, n2, a : N, H, W, 1568] = =(I[n0, n1, n2, a]); }",
                         {"I": [1, 7, 7, 1536]}, [128, 1, 7], [150528, 84, 1, 3584, 4096, 3584, 3584, 256, 0, 256], [896], [7, 12]),
    "slice of a vector": Kernel("function slice(I[A]) -> (O) { O[a + 256 : 512] = =(I[a]); }", {"I": [256]}, [256],
                                [512, 1, 1, 1024, 1024, 1024, 1024, 256, 0, 256], [256], [1]),
}


class PublishedKernels(ToolTest):
    def explain(self, kernel, *options):
        path = self.folder / "kernel.tile"
        path.write_text(kernel.text + "\n")
        tensors = [part for name, shape in kernel.tensors.items() for part in ("--tensor", f"{name}=f32{shape}")]
        return self.succeed("explain", path, "--cost", "plaidml", "--target", "plaidml_amd", *tensors, *options)

    def test_search_chooses_the_tile_and_lays_it_out(self):
        for name, kernel in KERNELS.items():
            with self.subTest(name):
                text = self.explain(kernel, "--candidates", "1")
                chosen = re.search(r"chosen tile: \[(.*)\]", text).group(1)
                self.assertEqual([int(part.split(":")[1]) for part in chosen.split(",")], kernel.tile)
                self.assertEqual([int(size) for size in re.findall(r"^size (\d+) ", text, re.M)], kernel.shared)
                groups = re.search(r"^(.*) groups of 256 threads", text, re.M).group(1).split(" x ")
                self.assertEqual([int(count) for count in groups], (kernel.groups + [1, 1])[:3])

    def test_statistics(self):
        for name, kernel in KERNELS.items():
            with self.subTest(name):
                text = self.explain(kernel, "--section", "candidates", "--tile", ",".join(map(str, kernel.tile)))
                figures = dict(part.split("=") for part in re.search(r"Compute score: (.*)", text).group(1).split())
                self.assertEqual([int(figures[name]) for name in STATISTICS], kernel.statistics)


if __name__ == "__main__":
    main()
