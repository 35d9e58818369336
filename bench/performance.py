#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/performance.md, the headline figures, from the tables of docs/measurements.

    bench/performance.py

Every table names its machine, its commit and its peer as the measured tables do. Ratios are a peer's time over ours: above 1 is
faster than the peer. bench/measure.py and bench/fusion.py write the tables of a CPU and then this page; scripts/gpu_bench.sh measures
those of a GPU.
"""
import statistics

import float_tables
import gpu_tables
import ilpm_tables
import page
from page import geomean, markdown, read_table

INTRO = """# Measured performance

Medians on random or real data. A ratio is the peer's time over ours, so that above 1 is faster than the peer; means are geometric. Nothing
is tuned on the device unless said: schedules are what search picks by the cost model ([cost_model.md](cost_model.md)). This page is written
by `bench/performance.py` from the tables of [measurements](measurements), which have every layer with its spread; what was tried and why is
in [lab](lab).
"""
GRADIENTS = {"data": "gradient by data", "weights": "gradient by weights"}


def of(name):
    """A table's file beside what it says was measured."""
    return f"[{name}](measurements/{name})"


def spread(row, median, low="p10_ms", high="p90_ms"):
    return f"{row[median]} ({row[low]}–{row[high]})" if row[low] else row[median]


def networks():
    note, cpu = read_table("cpu_networks.csv")
    ratios = [float(row["ratio"]) for row in cpu]
    text = (f"\n## Whole networks\n\nCPU beside onnxruntime and OpenVINO, float32, interleaved rounds; the ratio is that of the faster of both in each "
            f"round: {note} ({of('cpu_networks.csv')}). Geometric mean {geomean(ratios):.2f}, least {min(ratios):.2f}.\n\n")
    text += markdown(["model", "ms", "onnxruntime ms", "OpenVINO ms", "ratio (p10–p90)"],
                     ([row["model"].rsplit("/", 1)[1].removesuffix(".onnx") if row["model"].count("/") == 1 else row["model"].split("/")[1],
                       row["ours_ms"], row["onnxruntime_ms"], row["openvino_ms"], f"{row['ratio']} ({row['ratio_p10']}–{row['ratio_p90']})"]
                      for row in cpu))
    hundred = [float(row["ratio"]) for row in read_table("cpu_timm_xeon.csv")[1]]
    text += (f"\n{len(hundred)} networks of timm, to which nothing was fitted, on a Xeon with AVX-512 beside the same two "
             f"({of('cpu_timm_xeon.csv')}): geometric mean {geomean(hundred):.2f}, least {min(hundred):.2f}, "
             f"{sum(ratio < 1 for ratio in hundred)} below 1 in three rounds on a busy host; the table says what these give in seven.\n")
    rows = [row for row in read_table("networks.csv")[1] if row["machine"] == "NVIDIA H200" and row["commit"] != "b0e53de"]
    latest = {}
    for row in rows:  # the first row of a case is the last measured
        latest.setdefault((row["device"], row["model"], row["precision"], row["batch"]), row)
    text += f"\nNVIDIA H200 (driver 580.159, NVRTC 13.0), {of('networks.csv')}:\n\n"
    text += markdown(["model", "through", "type", "batch", "ms (p10–p90)", "peer", "its ms", "ratio", "commit"],
                     ([row["model"], row["device"], row["precision"], row["batch"], spread(row, "ms"), row["peer"], row["peer_ms"],
                       f"{float(row['peer_ms']) / float(row['ms']):.2f}" if row["peer_ms"] else "", row["commit"]] for row in latest.values()))
    return text


def training_steps(file):
    """Ours of the first round, beside the quickest of PyTorch's forms at the batch."""
    rows = read_table(file)[1]
    table = []
    for row in rows:
        if row["who"] != "tilefuse" or row["form"]:
            continue
        best = min((peer for peer in rows if peer["who"] == "torch" and peer["batch"] == row["batch"]), key=lambda peer: float(peer["ms"]))
        table.append([row["batch"], spread(row, "ms"), row["mb"], f"{best['type']} {best['form']}", best["ms"], best["mb"],
                      f"{float(best['ms']) / float(row['ms']):.2f}"])
    return markdown(["batch", "ms (p10–p90)", "MB", "PyTorch", "its ms", "its MB", "ratio"], table)


def training():
    text = ("\n## Training\n\nResNet-50, SGD with momentum, f16: a step with the pictures' way to the device, beside the quickest of PyTorch's forms that "
            "were run in the same call.\n")
    for file, device, commit in (("train_steps_h200.csv", "H200", "62e8bf3"), ("train_steps_h100.csv", "H100", "43cf98b")):
        text += f"\nOne NVIDIA {device}, commit {commit} ({of(file)}):\n\n" + training_steps(file)
    return text + other_steps() + workers("H100") + workers("H200") + ranks()


def other_steps():
    """Each newest step of ours that has one of PyTorch's in the same call and type, beside the quickest of these."""
    note, rows = read_table("training_h200.csv")
    newest = {}
    for row in rows:
        peers = [peer for peer in rows if peer["who"].startswith("torch") and all(peer[key] == row[key] for key in ("network", "batch", "type", "call"))]
        if row["who"] == "tilefuse" and peers:
            best = min(peers, key=lambda peer: float(peer["ms"]))
            newest[row["network"], row["batch"], row["type"]] = [
                row["network"], row["batch"], row["type"], spread(row, "ms"), row["mb"], best["who"], best["ms"], best["mb"],
                f"{float(best['ms']) / float(row['ms']):.2f}"]
    return (f"\nSteps of other networks and types, on H200s ({of('training_h200.csv')} says at which commits, and which of PyTorch's forms were run):\n\n" +
            markdown(["network", "batch", "type", "ms (p10–p90)", "MB", "PyTorch", "its ms", "its MB", "ratio"], newest.values()))


def timm():
    latest = {row["network"]: row for row in read_table("timm_h200.csv")[1]}  # the last row of a network is the last measured
    ratios = {name: float(row["ratio"]) for name, row in latest.items()}
    least = sorted(ratios, key=ratios.get)[:6]
    return (f"\n## timm's networks on a GPU\n\nf16, batch 32, {len(ratios)} networks of as many families beside PyTorch's graph in the same calls "
            f"({of('timm_h200.csv')}, which says at which commits): it takes {geomean(list(ratios.values())):.2f} times as long in geometric mean. "
            f"Least {', '.join(f'{name} {ratios[name]:.2f}' for name in least)}.\n")


def torchvision():
    """Networks in f16 beside the quicker of PyTorch's forms, and those of the list at a later commit; medians of rounds."""
    best, least, table = torchvision_rows("torchvision_best_h200.csv", ("graph", "compile"))
    later, least_later, table_later = torchvision_rows("torchvision_list_h200.csv", ("graph", "compile"))
    return (f"\n## torchvision's networks on a GPU\n\nf16, one NVIDIA H200, commit 79037503, beside PyTorch in the same call, eager in a CUDA graph and compiled "
            f"(mode reduce-overhead), channels last ({of('torchvision_best_h200.csv')}). The quicker of them takes {best:.2f} times as long in "
            f"geometric mean, {least:.2f} at least:\n\n" + markdown(["network", "batch", "ms", "graph", "compile", "ratio"], table) +
            f"\nThe first twelve of them at 7bea6017, on another H200, in one call ({of('torchvision_list_h200.csv')}): {later:.2f} times as long, "
            f"{least_later:.2f} at least:\n\n" + markdown(["network", "batch", "ms", "graph", "compile", "ratio"], table_later) +
            f"\nAt 0c0342d7 on a third, beside the graph alone, with four networks of timm ({of('torchvision_later_h200.csv')}): "
            f"{torchvision_rows('torchvision_later_h200.csv', ('graph',))[0]:.2f}.\n")


def torchvision_rows(file, peers):
    """Geometric mean and least of the ratios of the quickest peer, and rows of a table."""
    times = {}
    for row in read_table(file)[1]:
        times.setdefault((row["network"], row["batch"]), {}).setdefault(row["side"], []).append(float(row["ms"]))
    table, ratios = [], []
    for (network, batch), sides in times.items():
        ms = {side: statistics.median(rounds) for side, rounds in sides.items()}
        ratios.append(min(ms[peer] for peer in peers) / ms["tilefuse"])
        table.append([network, batch, *(f"{ms[side]:.3f}" for side in ("tilefuse", *peers)), f"{ratios[-1]:.2f}"])
    return statistics.geometric_mean(ratios), min(ratios), table


def workers(device):
    file = f"train_workers_{device.lower()}.csv"
    rows = read_table(file)[1]
    alone = {row["who"].split()[0]: float(row["images_per_second"]) for row in rows if row["workers"] == "1"}

    def ratio(row):
        one = alone.get(row["who"].split()[0])
        return f"{float(row['images_per_second']) / one:.3f}" if one else "-"

    return (f"\n128 pictures on each of one and two {device}s of a host ({of(file)}):\n\n" +
            markdown(["who", "GPUs", "order", "pictures/s", "of one", "waits for the exchange, ms"],
                     ([row["who"], row["workers"], row["order"], row["images_per_second"], ratio(row), row["exchange_wait_ms"]]
                      for row in rows)))


def ranks():
    note, rows = read_table("train_ranks_cpu.csv")
    return (f"\nCIFAR ResNet-20, 64 pictures a rank of one CPU thread: {note.split(';')[0]} ({of('train_ranks_cpu.csv')}):\n\n" +
            markdown(["form", "pictures/s, median", "of one", "pictures/s, quickest tenth", "of one"],
                     ([row["form"], row["median_rate"], row["median_ratio"], row["best_rate"], row["best_ratio"]] for row in rows)))


def cpu_layers():
    note, layers = read_table("cpu_layers.csv")
    text = (f"\n## Convolutions on a CPU\n\nBeside oneDNN in one process, rounds interleaved; forward with bias and ReLU at batch 1, gradients at "
            f"batch 8: {note.split(';')[0]} ({of('cpu_layers.csv')}, {of('cpu_gradients.csv')}).\n\n")
    cases = {}
    for row in layers:
        cases.setdefault((row["network"], "forward"), {})[row["layer"]] = float(row["ratio"])
    for row in read_table("cpu_gradients.csv")[1]:
        cases.setdefault(("resnet50", GRADIENTS[row["direction"]]), {})[row["layer"]] = float(row["onednn_over_cpu"])
    for ratios in cases.values():
        ratios.pop("geomean", None)
    text += markdown(["layers of", "direction", "layers", "mean ratio", "least", "most"],
                     ([network, direction, len(ratios), f"{geomean(ratios.values()):.2f}", *extremes(ratios)]
                      for (network, direction), ratios in cases.items()))
    return text + pocl()


def extremes(ratios):
    return (f"{name} {ratios[name]:.2f}" for name in (min(ratios, key=ratios.get), max(ratios, key=ratios.get)))


def pocl():
    ours = {(row["layer"], row["direction"]): row for row in read_table("cpu_pocl.csv")[1]}
    share = geomean(float(row["cpu_over_opencl"]) for row in ours.values())
    note, libraries = read_table("pocl_libraries.csv")
    text = (f"\nThrough PoCL the 3x3 layers of ResNet-50 run at {share:.2f} of the speed of our own machine code ({of('cpu_pocl.csv')}). Beside other "
            f"OpenCL libraries, which were measured on another machine, so that the ratios hold two machines' difference too ({note.split(',')[0]}, {of('pocl_libraries.csv')}):\n\n")
    found = {}
    for row in libraries:
        for direction in ("forward", "data", "weights"):
            if row[direction]:
                speed = float(ours[row["layer"], direction]["opencl_gflops"]) / float(row[direction])
                found.setdefault((row["library"], direction), []).append(speed)
    return text + markdown(["library", "direction", "layers", "our GFLOP/s over its, mean"],
                           ([library, GRADIENTS.get(direction, direction), len(speeds), f"{geomean(speeds):.0f}"]
                            for (library, direction), speeds in found.items()))


def tensor_cores():
    path = page.MEASUREMENTS / "tensor_cores_h200.csv"
    machine, ours = gpu_tables.sections(path, False)
    peer, cudnn = gpu_tables.sections(page.MEASUREMENTS / "cudnn_h200.csv", True)
    rows = []
    for key, layers in ours.items():
        kind, epilogue, form, direction, batch = key
        ratios = {layer: float(cudnn[key][layer][0]["us"]) / float(timed[0]["us"]) for layer, timed in layers.items() if layer in cudnn.get(key, {})}
        if ratios:
            rows.append([kind, direction.replace("_", " "), batch, epilogue, form, len(ratios), f"{geomean(ratios.values()):.2f}", *extremes(ratios)])
    return (f"\n## Convolutions on tensor cores\n\n{machine}, commit {page.commit_of(path)}; peer: {peer}, channels last. ResNet-50's convolutions, and "
            f"17 odd ones, one protocol for both; cuDNN's 8-bit rows are of its implicit GEMM for integers ([all layers](measurements/tensor_cores.md)).\n\n"
            + markdown(["type", "direction", "batch", "epilogue", "form", "layers", "mean ratio", "least", "most"], rows))


def float32():
    measured, peer, cudnn = float_tables.times()
    commit = page.commit_of(page.MEASUREMENTS / "layers_h200_cuda.csv")
    _, dlprimitives = float_tables.beside_dlprimitives(measured["opencl"])
    text = (f"\n## Convolutions in float32 on a GPU\n\nPeer: {peer}, without TF32, channels last or first, whichever is faster; commit {commit} "
            f"([all layers](measurements/float32.md)).\n{float_tables.summary(measured, cudnn)}")
    means = ", ".join(f"{direction.replace('_', ' ')} at batch {batch} {geomean(values):.2f}" for (direction, batch), values in dlprimitives.items())
    return f"{text}\nBeside dlprimitives through the same OpenCL driver: {means}.\n"


def ilpm():
    rows = [[f"{machine} ({name})", *(f"{geomean(ilpm_tables.ratios_of(results, rival).values()):.2f}" for rival in ilpm_tables.RIVALS), commit]
            for name, machine, commit, results in ilpm_tables.tables()]
    return ("\n## ILP-M\n\nIts author's four ResNet layers, one image, float32: how many times ILP-M is faster than its rivals, all of them our "
            "kernels ([all layers](measurements/ilpm.md)).\n\n" + markdown(["device", *ilpm_tables.RIVALS.values(), "commit"], rows))


def fusion():
    note, kernels = read_table("fusion_kernels.csv")
    timed_note, timed = read_table("fusion_networks.csv")
    times = {row["network"]: row for row in timed}
    text = (f"\n## Fusion\n\nKernels and bytes by `--fuse` (none, pointwise, all): {note} ({of('fusion_kernels.csv')}). Times of pointwise and all: "
            f"{timed_note} ({of('fusion_networks.csv')}).\n\n")
    text += markdown(["network", "kernels", "MB moved", "pointwise ms", "all ms", "pointwise / all"],
                     ([row["network"], *(" / ".join(row[f"{what}_{level}"] for level in ("none", "pointwise", "all")) for what in ("kernels", "mb")),
                       *(times[row["network"]][cell] for cell in ("pointwise_ms", "all_ms", "ratio"))] for row in kernels))
    path = page.MEASUREMENTS / "fused_f16_h200_cuda.csv"
    judged = [row for row in read_table(path.name)[1] if "as judged" in row["block"] and row["ratio"]]
    ratios = {row["block"].split(" as judged")[0]: float(row["ratio"]) for row in judged}
    return text + (f"\nMaps in the ring of `wgmma`, f16 on an H200, commit {page.commit_of(path)}: layers one by one over what the cost model decides, "
                   f"{len(ratios)} pairs, mean {geomean(ratios.values()):.2f}, {' to '.join(extremes(ratios))} ({of(path.name)}).\n")


def starts():
    note, rows = read_table("cpu_squeezenet.csv")
    text = f"\n## Start and planning\n\nSqueezeNet 1.1, one photograph: {note} ({of('cpu_squeezenet.csv')}).\n\n"
    text += markdown(["device", "ms (p10–p90)", "first start s", "later start s"],
                     ([row["device"], spread(row, "median_ms"), row["first_start_s"], row["later_start_s"]] for row in rows))
    note, rows = read_table("fusion_choose.csv")
    columns = [name for name in rows[0] if name.endswith("pointwise")]
    text += f"\nSeconds until layout, fusion (`pointwise`), splits and schedules of all kernels are chosen, without a cache: {note.split(';')[0]} ({of('fusion_choose.csv')}).\n\n"
    return text + markdown(["network", *(name.removesuffix(" pointwise") for name in columns)], ([row["network"], *(row[name] for name in columns)] for row in rows))


def main():
    sections = (networks, torchvision, timm, training, cpu_layers, tensor_cores, float32, ilpm, fusion, starts)
    (page.DOCS / "performance.md").write_text(INTRO + "".join(section() for section in sections), encoding="utf-8")


if __name__ == "__main__":
    main()
