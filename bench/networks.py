#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole networks on the CPU against onnxruntime, in alternating rounds on the same machine.

    bench/networks.py BUILD [--data ../shared/data] [--rounds 7] [--runs 15] [MODEL …]

Needs `pip install onnxruntime numpy` in the Python that runs it. CSV: model, our and its median in milliseconds, ratio (its /
ours), and the 10th and 90th percentile of the rounds' ratios. Both use all cores; a round is RUNS runs of each, one after
another, with random input. Between them the peer's threads have time to fall asleep.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ("models_light/light_resnet50.onnx", "models/squeezenet11_fp32/model.onnx", "models_light/light_densenet121.onnx")


class Peer:
    """A model in onnxruntime, every dimension that is not known 1."""

    def __init__(self, model):
        import numpy
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.inputs = {}
        for value in self.session.get_inputs():
            shape = [size if isinstance(size, int) else 1 for size in value.shape]
            self.inputs[value.name] = numpy.random.rand(*shape).astype(numpy.float32)
        self.times(3)

    def times(self, runs):
        """Milliseconds of each run."""
        values = []
        for _ in range(runs):
            start = time.perf_counter()
            self.session.run(None, self.inputs)
            values.append(1e3 * (time.perf_counter() - start))
        return values


def ours(tilefuse, model, runs, cache):
    """Median milliseconds of one process that runs the model `runs` times."""
    command = [tilefuse, "bench", str(model), "--device", "cpu", "--repeat", str(runs), "--cache", cache, "--no-records"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return float(re.search(r"median ([\d.]+) ms", done.stdout).group(1))


def compare(tilefuse, model, rounds, runs):
    """Our and the peer's median milliseconds, and the ratio of each round."""
    with tempfile.TemporaryDirectory() as folder:
        cache = f"{folder}/kernels.sqlite"
        peer = Peer(model)
        ours(tilefuse, model, 1, cache)
        pairs = []
        for _ in range(rounds):
            mine = ours(tilefuse, model, runs, cache)
            pairs.append((mine, statistics.median(peer.times(runs))))
            time.sleep(0.02)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), sorted(b / a for a, b in pairs)


def rows(tilefuse, data, rounds, runs, models=MODELS):
    for model in models:
        mine, its, ratios = compare(tilefuse, data / model, rounds, runs)
        at = lambda share: ratios[round(share * (len(ratios) - 1))]
        yield (model, f"{mine:.2f}", f"{its:.2f}", f"{its / mine:.3f}", f"{at(0.1):.3f}", f"{at(0.9):.3f}")


HEADER = ("model", "ours_ms", "onnxruntime_ms", "ratio", "ratio_p10", "ratio_p90")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    print(",".join(HEADER))
    for row in rows(str(args.build.resolve() / "bin/tilefuse"), args.data, args.rounds, args.runs, args.models or MODELS):
        print(",".join(row))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
