#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python takes beyond its kernel: PYTHONPATH=python TILEFUSE_LIBRARY=… python_overhead.py [DEVICE]

On "cuda" the arrays are torch's, and calls are queued in its stream."""
import statistics
import sys
import time

import numpy as np

import tilefuse as tf

CALLS = 2000


def microseconds(call):
    def once():
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        return (time.perf_counter() - begin) / CALLS * 1e6
    return statistics.median(once() for _ in range(9))


def arrays(device):
    if device == "cpu":
        return np.ones(64, np.float32), np.empty(64, np.float32)
    import torch
    return torch.ones(64, device=device), torch.empty(64, device=device)


device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
x, y = arrays(device)
scale = tf.tile("function scale(X[N]; F) -> (Y) { Y = F * X; }", device=tf.Device(device, threads=1))
model = scale.model(F=2)
model(x)
print(f"m(x)                     {microseconds(lambda: model(x)):6.2f} us")
print(f"m.run({{'X': x}}, out=…)   {microseconds(lambda: model.run({'X': x}, out={'output_0': y})):6.2f} us")
print(f"scale(x, F=2)            {microseconds(lambda: scale(x, F=2)):6.2f} us")
print(f"of this, the library     {model.bench(1000).median * 1e6:6.2f} us")
