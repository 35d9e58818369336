#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models against their stored outputs, and SqueezeNet on photographs, on both devices."""
import re

import numpy as np

from support import DATA, ToolTest, best_labels, compiled, fields, main, read_pb

MODELS = ["squeezenet11_fp32", "squeezenet11_fp16", "mnist_8", "mnist_gemm_wonnx", "mnist_pytorch_bn",
          "cifar_cnn_pytorch", "cifar_resnet20", "cifar_resnet56", "super_resolution_10", "espcn_resize"]
# On the CPU alone, with producers in their consumers' tiles and a small quota of integer set operations.
FUSED = ["deeplabv3_mnv2", "fastestdet", "road_seg_adas0001", "tbefn_180x320", "ultraface_rfb320", "yolox_nano",
         "yunet_120x160"]
# Also stored in narrower types.
STORED = ["squeezenet11_fp32", "mnist_pytorch_bn", "cifar_resnet20", "super_resolution_10"]
LIGHT = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512"]
DEVICES = ["cpu", "opencl"]
# Of the stored output's range, by the type that an f32 model is stored in.
TOLERANCES = {"f16": 5e-3, "bf16": 3e-2, "int8": 2e-1}
# What onnxruntime 1.30 answers on the same preprocessing by PIL.
PHOTOGRAPHS = {"cat.jpg": "Egyptian cat", "dog.jpg": "golden retriever", "grace_hopper.jpg": "bow tie",
               "hummingbird.jpg": "hummingbird", "pelican.jpg": "pelican"}


def error(got, stored):
    """Largest difference as a share of the stored output's range, or of its largest value where that is more."""
    stored = stored.astype(np.float64)
    scale = max(float(np.ptp(stored)), float(np.abs(stored).max()))
    return float(np.abs(got.astype(np.float64) - stored).max()) / scale


def output_files(model):
    """What `run` calls the model's outputs, in their order: by their names, without what no file name should hold."""
    graph = next(value for number, value in fields(model.read_bytes()) if number == 7)
    outputs = [value for number, value in fields(graph) if number == 12]
    names = [next(value for number, value in fields(output) if number == 1).decode() for output in outputs]
    files = [re.sub(r"[^A-Za-z0-9.-]", "_", name[:100]) for name in names]
    return [f"{file if file.strip('_.') else f'output_{k}'}.npy" for k, file in enumerate(files)]


class Models(ToolTest):
    def compare(self, model, inputs, outputs, device, precision=None, options=()):
        out = self.folder / "out"
        given = [argument for path in inputs for argument in ("--input", path)]
        given += ["--precision", precision] if precision else []
        self.succeed("run", model, *given, *options, "--device", device, "--output", out)
        for path, name in zip(outputs, output_files(model)):
            stored, got = read_pb(path), np.load(out / name)
            self.assertEqual((got.shape, got.dtype), (stored.shape, stored.dtype))
            worst = error(got, stored)
            self.assertLessEqual(worst, TOLERANCES.get(precision, 2e-2 if stored.dtype == np.float16 else 1e-3))
            print(f"{model.parent.name}/{model.stem} {path.parent.name} {device} {precision or ''}: {worst:.1e} of the range")

    def check_model(self, name, device, precision=None, options=()):
        self.need_data()
        self.need_device(device)
        folder = DATA / "models" / name
        sets = sorted(folder.glob("test_data_set_*"))
        self.assertTrue(sets)
        for data in sets:
            self.compare(folder / "model.onnx", sorted(data.glob("input_*.pb")), sorted(data.glob("output_*.pb")), device,
                         precision, options)

    def check_fused(self, name, device):
        self.check_model(name, device, options=("--fuse", "all", "--fuse-quota", "1000"))

    def check_light(self, name, device):
        self.need_data()
        self.need_device(device)
        x = np.arange(3 * 224 * 224, dtype=np.float32) / np.float32(3 * 224 * 224)
        np.save(self.folder / "x.npy", x.reshape(1, 3, 224, 224))
        folder = DATA / "models_light"
        self.compare(folder / f"light_{name}.onnx", [self.folder / "x.npy"], [folder / f"light_{name}_output_0.pb"], device)

    def check_gradient(self, name, device):
        """Every kernel of a training step, maps at staging and by-products included."""
        self.need_data()
        self.need_device(device)
        model = DATA / "models" / name / "model.onnx"
        text = self.succeed("verify", model, "--gradient=weights", "--fuse", "all", "--device", device, "--samples", "64")
        self.assertIn("agree with the reference", text)


class Photographs(ToolTest):
    def check(self, kind, device, precision=None):
        self.need_data()
        self.need_device(device)
        arguments = ("run", DATA / "models" / f"squeezenet11_{kind}" / "model.onnx", "--device", device, "--preset",
                     "imagenet-caffe", "--labels", DATA / "labels" / "imagenet_synset.txt", "--image",
                     *[DATA / "images" / name for name in PHOTOGRAPHS],
                     *(["--precision", precision] if precision else []))
        text = self.succeed(*arguments)
        for best, expected in zip(best_labels(text), PHOTOGRAPHS.values(), strict=True):
            self.assertIn(expected, best)
        self.assertEqual(compiled(self.succeed(*arguments)), 0)


def add(cls, check, name, device, *precision):
    kind = check.__name__.removeprefix("check_")
    setattr(cls, "_".join(["test", kind, name, device, *precision]), lambda self: check(self, name, device, *precision))


for model_name in FUSED:
    add(Models, Models.check_fused, model_name, "cpu")
for on in DEVICES:
    for model_name in MODELS:
        add(Models, Models.check_model, model_name, on)
    add(Models, Models.check_gradient, "mnist_pytorch_bn", on)
    for model_name in LIGHT:
        add(Models, Models.check_light, model_name, on)
    for kind in ("fp32", "fp16"):
        add(Photographs, Photographs.check, kind, on)
    for stored_in in TOLERANCES:
        add(Photographs, Photographs.check, "fp32", on, stored_in)
        for model_name in STORED:
            add(Models, Models.check_model, model_name, on, stored_in)

if __name__ == "__main__":
    main()
