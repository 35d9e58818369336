#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole networks on the CPU against onnxruntime and OpenVINO, in alternating rounds on the same machine.

    bench/networks.py BUILD [--data ../shared/data] [--rounds 7] [--runs 15] [MODEL …]

Needs `pip install onnxruntime openvino numpy` in the Python that runs it; without OpenVINO onnxruntime alone is the peer. CSV:
model, our median in milliseconds and each peer's, the ratio of the faster peer of a round to ours (above 1 we are faster; its
median over the rounds), and the 10th and 90th percentile of these ratios. All use all cores in float32 (OpenVINO's latency
hint); a round is RUNS runs of each, one after another, with random input. Between them the peers' threads fall asleep.
"""
import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = (*(f"models_light/light_{name}.onnx" for name in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                                           "shufflenet", "squeezenet", "vgg19", "zfnet512")),
          *(f"models/{name}/model.onnx" for name in ("squeezenet11_fp32", "cifar_resnet56", "deeplabv3_mnv2", "fastestdet",
                                                     "ultraface_rfb320", "yolox_nano", "yunet_120x160")))
THREADS = len(os.sched_getaffinity(0))


def random_inputs(session):
    """Float inputs of an onnxruntime session by name, every dimension that is not known 1."""
    import numpy
    shape = lambda value: [size if isinstance(size, int) else 1 for size in value.shape]
    return {value.name: numpy.random.rand(*shape(value)).astype(numpy.float32) for value in session.get_inputs()}


class Onnxruntime:
    name = "onnxruntime"

    def __init__(self, model):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.inputs = random_inputs(self.session)

    def run(self):
        self.session.run(None, self.inputs)


class Openvino:
    name = "openvino"

    def __init__(self, model, inputs):
        import openvino
        core = openvino.Core()
        read = core.read_model(str(model))
        read.reshape({name: list(value.shape) for name, value in inputs.items()})
        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32"}
        self.request = core.compile_model(read, "CPU", options).create_infer_request()
        self.inputs = inputs

    def run(self):
        self.request.infer(self.inputs, share_inputs=True, share_outputs=True)


def peers(model):
    """The peers that are installed, warm."""
    found = [Onnxruntime(model)]
    try:
        found.append(Openvino(model, found[0].inputs))
    except ImportError:
        pass
    for peer in found:
        median_ms(peer, 3)
    return found


def median_ms(peer, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        peer.run()
        times.append(1e3 * (time.perf_counter() - start))
    time.sleep(0.02)
    return statistics.median(times)


def ours(tilefuse, model, runs, cache):
    """Median milliseconds of one process that runs the model `runs` times."""
    command = [tilefuse, "bench", str(model), "--device", "cpu", "--repeat", str(runs), "--cache", cache, "--no-records"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return float(re.search(r"median ([\d.]+) ms", done.stdout).group(1))


def compare(tilefuse, model, rounds, runs):
    """For each round our median milliseconds, then that of each peer by name."""
    with tempfile.TemporaryDirectory() as folder:
        cache = f"{folder}/kernels.sqlite"
        beside = peers(model)
        ours(tilefuse, model, 1, cache)
        return [(ours(tilefuse, model, runs, cache), {peer.name: median_ms(peer, runs) for peer in beside}) for _ in range(rounds)]


HEADER = ("model", "ours_ms", "onnxruntime_ms", "openvino_ms", "ratio", "ratio_p10", "ratio_p90")


def rows(tilefuse, data, rounds, runs, models=MODELS):
    for model in models:
        measured = compare(tilefuse, data / model, rounds, runs)
        ratios = sorted(min(its.values()) / mine for mine, its in measured)
        at = lambda share: f"{ratios[round(share * (len(ratios) - 1))]:.3f}"
        median_of = lambda name: f"{statistics.median(its[name] for _, its in measured):.2f}" if name in measured[0][1] else ""
        yield (model, f"{statistics.median(mine for mine, _ in measured):.2f}", median_of("onnxruntime"), median_of("openvino"),
               f"{statistics.median(ratios):.3f}", at(0.1), at(0.9))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_intermixed_args()
    print(",".join(HEADER))
    ratios = []
    for row in rows(str(args.build.resolve() / "bin/tilefuse"), args.data, args.rounds, args.runs, args.models or MODELS):
        print(",".join(row))
        sys.stdout.flush()
        ratios.append(float(row[4]))
    print(f"# geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
