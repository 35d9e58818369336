#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost model's first choices beside the best that tuning finds, over kernels of whole networks that no constant was fitted to.

    bench/first_choices.py PROGRAM OUT.csv [MODEL…] [--jobs N] [OPTIONS of bench_first_choices]

PROGRAM is a build with bench_first_choices, or a folder with it in bin/. Each MODEL is an ONNX file or the name of a network of torchvision's, which is
made with random weights at the size of --batch, N of them side by side; without any, those of the list below. Prints the
summary: by kind of kernel the geometric mean of the first choice over the best, its worst, and the error of its prediction.
"""
import argparse
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import model_accuracy

# Those whose layers and times nobody looked at while the model was made.
NETWORKS = ["alexnet", "efficientnet_b3", "efficientnet_v2_s", "googlenet", "maxvit_t", "mnasnet1_0", "regnet_x_3_2gf", "resnet18",
            "shufflenet_v2_x2_0", "squeezenet1_1", "swin_v2_t", "vit_b_32", "wide_resnet50_2"]


def export(job):
    import torchvision_networks
    name, batch, path = job
    torchvision_networks.export(name, batch, path)
    return path


def files(models, batch, jobs, scratch):
    """An ONNX file of each model."""
    made = [(name, batch, f"{scratch}/{name}.onnx") for name in models if not os.path.exists(name)]
    if made:
        with multiprocessing.get_context("spawn").Pool(min(jobs, len(made))) as pool:
            pool.map(export, made, chunksize=1)
    of = {name: path for name, _, path in made}
    return [of.get(name, name) for name in models]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args, options = parser.parse_known_intermixed_args()
    with tempfile.TemporaryDirectory() as scratch, args.out.open("w") as out:
        models = files(args.models or NETWORKS, args.batch, args.jobs, scratch)
        command = [args.program / "bin/bench_first_choices", *models, "--batch", str(args.batch), *options]
        failed = subprocess.run(command, stdout=out, check=False).returncode
    print(model_accuracy.choices_section(args.out), end="")
    return failed


if __name__ == "__main__":
    sys.exit(main())
