#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a model takes in onnxruntime with the provider, beside the same model alone, in turns: PYTHONPATH=python
TILEFUSE_LIBRARY=… ort_overhead.py MODEL.onnx [ROUNDS]

Inputs are of f32, open sizes are 1. Both write into arrays of their own making, on all cores."""
import statistics
import sys
import time

import numpy as np
import onnxruntime

import tilefuse as tf

PER_ROUND = 20


def seconds(call):
    times = []
    for _ in range(PER_ROUND):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


path, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15
onnxruntime.register_execution_provider_library("tilefuse", tf.ort_library())
session = onnxruntime.InferenceSession(path, providers=[tf.ORT_PROVIDER, "CPUExecutionProvider"])
feeds = {tensor.name: np.ones([size if isinstance(size, int) else 1 for size in tensor.shape], np.float32)
         for tensor in session.get_inputs()}
model = tf.load(path, "cpu", shapes={name: array.shape for name, array in feeds.items()})
arrays = [feeds[tensor.name] for tensor in model.inputs]
calls = {"onnxruntime with the provider": lambda: session.run(None, feeds), "the model alone": lambda: model(*arrays)}
for call in calls.values():
    call()
found = {name: [] for name in calls}
for _ in range(rounds):
    for name, call in calls.items():
        found[name].append(seconds(call))
for name, times in found.items():
    print(f"{name:30} {statistics.median(times) * 1e3:8.3f} ms, best round {min(times) * 1e3:8.3f}")
through, alone = found.values()
print(f"ratio, median of rounds        {statistics.median(a / b for a, b in zip(through, alone)):8.3f}")
