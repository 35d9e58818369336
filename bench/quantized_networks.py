#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised networks on the CPU against onnxruntime and OpenVINO, and against our own f32, in alternating rounds.

    bench/quantized_networks.py BUILD [--data ../shared/data] [--rounds 9] [--runs 15] [--only NAME] [--keep FOLDER] [F32.onnx …]

ResNet-50 and MobileNetV2 (bench/resnet50_model.py, bench/mobilenet_model.py), CIFAR ResNet-20 of the data and the models named, in f32, are
quantised by onnxruntime (`quantize_static`, u8 data, i8 weights per channel, three random inputs) as QDQ and as QOperator. Writes
docs/measurements/int8_cpu.csv and the table of docs/precision.md. A ratio is the time of another over ours of the same round, its median
over the rounds; `peers` is the faster of both peers. A peer that refuses a file has no figure. Needs `pip install onnxruntime openvino onnx numpy`.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import mobilenet_model
import networks
import page
import resnet50_model

HEADER = ("model", "format", "ours_ms", "f32_ms", "onnxruntime_ms", "openvino_ms", "peers_over_ours", "p10", "p90", "f32_over_int8",
          "least_ours_ms", "least_f32_ms", "least_onnxruntime_ms", "least_openvino_ms")


def quantize(source, folder, name):
    """The network of a file as f32, and quantised in both formats: paths by format."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    import onnxruntime

    class Inputs(CalibrationDataReader):
        def __init__(self, session):
            self.left = [networks.random_inputs(session) for _ in range(3)]

        def get_next(self):
            return self.left.pop() if self.left else None

    ready = folder / f"{name}.onnx"
    model = onnx.load(str(source))
    for value in model.graph.input:
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param:
                size.dim_value = 1
    onnx.save(model, str(ready))
    quant_pre_process(str(ready), str(ready), skip_symbolic_shape=True)
    paths = {"f32": ready}
    for form in (QuantFormat.QDQ, QuantFormat.QOperator):
        paths[form.name] = folder / f"{name}_{form.name}.onnx"
        session = onnxruntime.InferenceSession(str(ready), providers=["CPUExecutionProvider"])
        quantize_static(str(ready), str(paths[form.name]), Inputs(session), quant_format=form, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return paths


def sources(args, folder):
    """Names and f32 files of what is measured."""
    for module in (resnet50_model, mobilenet_model):
        model = module.Model(1)
        resnet50_model.write(model, folder / f"{model.name}_f32.onnx")
        yield model.name, folder / f"{model.name}_f32.onnx"
    yield "cifar_resnet20", args.data / "models/cifar_resnet20/model.onnx"
    for path in args.models:
        yield path.stem, path


def peers(model):
    found = [networks.Onnxruntime(model)]
    try:
        found.append(networks.Openvino(model, found[0].inputs))
    except (ImportError, RuntimeError):
        pass
    for peer in found:
        networks.median_ms(peer, 3)
    return found


def measure(tilefuse, paths, form, args, cache):
    """For each round milliseconds by who."""
    beside = peers(paths[form])
    rounds = []
    for turn in range(-1, args.rounds):
        mine = {"ours": networks.ours(tilefuse, paths[form], args.runs, cache), "f32": networks.ours(tilefuse, paths["f32"], args.runs, cache)}
        if turn >= 0:
            rounds.append(mine | {peer.name: networks.median_ms(peer, args.runs) for peer in beside})
    return rounds


def row(name, form, rounds):
    at = lambda who: [its[who] for its in rounds if who in its]
    figure = lambda what, values: f"{what(values):.3f}" if values else ""
    ratios = sorted(min(its[who] for who in ("onnxruntime", "openvino") if who in its) / its["ours"] for its in rounds)
    tenth = lambda share: f"{ratios[round(share * (len(ratios) - 1))]:.2f}"
    who = ("ours", "f32", "onnxruntime", "openvino")
    return (name, form, *(figure(statistics.median, at(one)) for one in who), f"{statistics.median(ratios):.2f}", tenth(0.1), tenth(0.9),
            f"{statistics.median(its['f32'] / its['ours'] for its in rounds):.2f}", *(figure(min, at(one)) for one in who))


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    flags = re.search(r"flags\s*: (.*)", info).group(1).split()
    units = [word for flag, word in (("avx512f", "AVX-512"), ("avx512_vnni", "VNNI"), ("amx_int8", "AMX")) if flag in flags]
    return f"{re.search(r'model name.*: (.*)', info).group(1)}, {networks.THREADS} threads, {', '.join(units)}"


def write_page():
    note, rows = page.read_table("int8_cpu.csv")
    text = f"Milliseconds, median of the rounds' medians ({note}; [int8_cpu.csv](measurements/int8_cpu.csv), by `bench/quantized_networks.py`):\n\n"
    text += page.markdown(("network", "int8", "f32", "onnxruntime, int8", "OpenVINO, int8", "faster peer / int8 (p10–p90)", "f32 / int8"),
                          ((f"{its['model']}, {its['format']}", its["ours_ms"], its["f32_ms"], its["onnxruntime_ms"], its["openvino_ms"] or "-",
                            f"{its['peers_over_ours']} ({its['p10']}–{its['p90']})", its["f32_over_int8"]) for its in rows))
    page.write_section("precision.md", "quantized_networks.py", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=networks.ROOT.parent / "shared/data")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--only", help="networks whose name has this; nothing is written")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the models")
    args = parser.parse_intermixed_args()
    tilefuse = str(args.build.resolve() / "bin/tilefuse")
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or pathlib.Path(scratch)
        for name, path in sources(args, folder):
            if args.only and args.only not in name:
                continue
            paths = quantize(path, folder, name)
            for form in ("QDQ", "QOperator"):
                found.append(row(name, form, measure(tilefuse, paths, form, args, f"{scratch}/kernels.sqlite")))
                print(",".join(found[-1]), flush=True)
    if not args.only:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=networks.ROOT, capture_output=True, text=True, check=True).stdout.strip()
        load = os.getloadavg()[2]
        page.write_table("int8_cpu.csv", f"{machine()}, commit {commit}, {time.strftime('%Y-%m-%d')}, load {load:.0f}, {args.rounds} rounds", HEADER, found)
        write_page()


if __name__ == "__main__":
    main()
