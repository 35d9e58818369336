#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Architectures that people export, as Debian's torch exports them: which import, what the others lack, and whether small ones
compute what onnxruntime computes.

    zoo_test.py [--device DEVICE] [--folder FOLDER] [NAME…]

Names are those of the table, timm_mixnet_s; without any all are tried, and how many import is checked. --folder keeps the
exported files and uses those that it has. Environment: TILEFUSE_TOOL, TILEFUSE_ROOT.
"""
import argparse
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

ROOT = pathlib.Path(os.environ.get("TILEFUSE_ROOT", pathlib.Path(__file__).resolve().parents[2]))
TOOL = os.environ.get("TILEFUSE_TOOL", str(ROOT / "build" / "bin" / "tilefuse"))
FAMILIES = {"tv": "torchvision_models", "timm": "timm_models", "hf": "transformers_models", "ul": "ultralytics_models"}
LEAST_IMPORTED = 148
TOLERANCE = 1e-4  # of an output's range
SKIPPED = 77


def quick_weights(torch):
    """Weights of the usual sizes without the usual time: what they are is not looked at."""
    def spread(tensor, *_, **__):
        fan = max(1, tensor[0].numel()) if tensor.dim() > 1 else 16
        with torch.no_grad():
            return tensor.uniform_(-fan ** -0.5, fan ** -0.5)

    for name in ("trunc_normal_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_normal_", "kaiming_uniform_"):
        setattr(torch.nn.init, name, spread)


def export(torch, module, name, path):
    """Writes the model of opset 16 and its arguments beside it; says why where torch cannot."""
    torch.manual_seed(0)
    try:
        model, arguments = module.make(name)
        model.eval()
        with torch.no_grad():
            torch.onnx.export(model, arguments, str(path), opset_version=16, do_constant_folding=True)
    except Exception as error:  # whatever a package throws at its exporter
        return f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
    if all(hasattr(argument, "numpy") for argument in arguments):
        np.savez(path.with_suffix(".npz"), *[argument.numpy() for argument in arguments])
    return ""


def tool(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace")


def lack(path):
    """What the model needs and does not get; empty where it imports."""
    done = tool("opt", "--from=onnx", "--to=program", path)
    return "" if done.returncode == 0 else done.stderr.replace("tilefuse: error: ", "").strip().splitlines()[0]


def expected(path, arguments):
    import onnxruntime
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = [each.name for each in session.get_inputs()]
    return [each.name for each in session.get_outputs()], session.run(None, dict(zip(inputs, arguments)))


def wrong(path, device, folder):
    """Why the model is not verified: a kernel that is wrong, or a result unlike onnxruntime's; empty where it is."""
    with np.load(path.with_suffix(".npz")) as stored:
        arguments = [stored[name] for name in stored.files]
    verified = tool("verify", path, "--device", device, "--samples", "64")
    if verified.returncode:
        return (verified.stderr or verified.stdout).strip().splitlines()[-1]
    given = []
    for number, value in enumerate(arguments):
        np.save(folder / f"{number}.npy", value)
        given += ["--input", folder / f"{number}.npy"]
    out = folder / path.stem
    out.mkdir()
    done = tool("run", path, *given, "--device", device, "--output", out)
    if done.returncode:
        return done.stderr.strip().splitlines()[0]
    for name, want in zip(*expected(path, arguments)):
        got = np.load(out / (re.sub(r"[^A-Za-z0-9.-]", "_", name[:100]) + ".npy"))
        scale = max(float(np.ptp(want)), float(np.abs(want).max()), 1e-30)
        worst = float(np.abs(got.astype(np.float64) - want).max()) / scale
        if got.shape != want.shape or not worst <= TOLERANCE:
            return f"{name} {got.shape} differs from onnxruntime's {want.shape} by {worst:.1e} of the range"
    return ""


class Zoo:
    """Tries models one by one and counts."""

    def __init__(self, torch, device, folder):
        self.torch, self.device, self.folder = torch, device, folder
        self.lacking, self.wrong, self.imported, self.verified = {}, {}, 0, 0

    def attempt(self, family, name, is_small):
        path = self.folder / f"{family}_{name}.onnx"
        module = importlib.import_module(FAMILIES[family])
        why = "" if path.exists() else export(self.torch, module, name, path)
        why = f"not exported: {why}" if why else lack(path)
        if why:
            self.lacking[path.stem] = why
        else:
            self.imported += 1
        if is_small and not why:
            with tempfile.TemporaryDirectory() as scratch:
                why = wrong(path, self.device, pathlib.Path(scratch))
            if why:
                self.wrong[path.stem] = why
            else:
                self.verified += 1
        print(f"{path.stem}: {why or ('verified' if is_small else 'imported')}", flush=True)


def chosen(names):
    for family, module in FAMILIES.items():
        table = importlib.import_module(module)
        for name in table.SMALL + table.OTHERS:
            if not names or f"{family}_{name}" in names:
                yield family, name, name in table.SMALL


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    try:
        import torch
        import torchvision  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}; scripts/setup.sh zoo installs it")
        return SKIPPED
    warnings.filterwarnings("ignore")
    os.environ["HF_HUB_OFFLINE"] = os.environ["YOLO_OFFLINE"] = "1"
    torch.set_num_threads(1)
    quick_weights(torch)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        zoo = Zoo(torch, options.device, folder)
        models = list(chosen(options.names))
        for model in models:
            zoo.attempt(*model)
            if not options.folder:
                (folder / f"{model[0]}_{model[1]}.onnx").unlink(missing_ok=True)
    small = sum(is_small for _, _, is_small in models)
    print(f"{zoo.imported} of {len(models)} import; {zoo.verified} of {small} are verified on {options.device}")
    for name, why in zoo.lacking.items():
        print(f"  {name} lacks: {why}")
    is_enough = zoo.imported >= (LEAST_IMPORTED if not options.names else len(models))
    return 0 if is_enough and zoo.verified == small else 1


if __name__ == "__main__":
    sys.exit(main())
