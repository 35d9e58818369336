#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every mistake that a newcomer made, with what the program must say of it: what was got, what is needed, and what to do next. A
message that says all three, or leaves nothing to do, is good enough; `python3 messages_test.py -v` prints each with its mistake."""
import shutil
import sys

import numpy as np

from support import GLYPHS, ROOT, ToolTest, field, main, node, onnx_model, value_info

MODEL = GLYPHS / "model.onnx"
IMAGE = GLYPHS / "images" / "01.png"
SHAPE = (1, 3, 32, 32)
ONE_NODE = [value_info("x", SHAPE)], [value_info("y", SHAPE)]


def open_sizes():
    dims = b"".join(field(1, field(2, size) if isinstance(size, str) else field(1, size)) for size in ("batch", 3, "height", "width"))
    value = field(2, field(1, field(1, 1) + field(2, dims)))
    return onnx_model([node("Relu", ["x"], ["y"])], [field(1, "x") + value], [field(1, "y") + value])


def external(file):
    """A tensor whose numbers lie in another file."""
    where = field(13, field(1, "location") + field(2, file)) + field(14, 1)
    return b"".join(field(1, size) for size in SHAPE) + field(2, 1) + field(8, "w") + where


class Messages(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        here = self.folder
        zeros = np.zeros(SHAPE, np.float32)
        for name, array in {"small": zeros[:, :, :16, :16], "no_batch": zeros[0], "f64": zeros.astype(np.float64),
                            "u8": zeros.astype(np.uint8), "two": np.zeros((2, *SHAPE[1:]), np.float32),
                            "fortran": np.asfortranarray(np.random.rand(*SHAPE).astype(np.float32)), "x": zeros}.items():
            np.save(here / name, array)
        (here / "labels.txt").write_text("one\ntwo\n")
        (here / "picture.webp").write_bytes(b"RIFF\x10\0\0\0WEBPVP8 ")
        (here / "nothing").mkdir()
        relu = [node("Relu", ["x"], ["y"])]
        for name, data in {"foreign": onnx_model([node("Attention", ["x"], ["y"]) + field(7, "com.microsoft")], *ONE_NODE),
                           "boxes": onnx_model([node("NonMaxSuppression", ["x"], ["y"])], *ONE_NODE),
                           "fixed": onnx_model(relu, *ONE_NODE), "open": open_sizes(),
                           "list": onnx_model(relu, [value_info("x", [1, 40])], [value_info("y", [1, 40])]),
                           "external": onnx_model([node("Add", ["x", "w"], ["y"])], *ONE_NODE, [external("ext.data")])}.items():
            (here / f"{name}.onnx").write_bytes(data)
        (here / "wrong.tile").write_text("function f(X[N]) -> (Y) { Y[n : N] = +(X[n] * Z[n]); }\n")
        (here / "product.tile").write_text("function f(X[N]) -> (Y) { Y[n : N] = +(X[n * n]); }\n")

    def say(self, number, *arguments, says, code=2):
        text = self.refuse(*arguments, says=says, code=code)
        if "-v" in sys.argv:
            print(f"{number:>4}  tilefuse {' '.join(map(str, arguments))}\n      {text.strip()}".replace(f"{self.folder}/", ""))

    def test_tensors(self):
        here, run = self.folder, ("run", self.folder / "fixed.onnx", "--input")
        self.say(1, *run, here / "small.npy", says=["input 'x' is f32[1, 3, 32, 32], the file holds f32[1, 3, 16, 16]"])
        self.say(2, *run, here / "no_batch.npy", says=["the file holds f32[3, 32, 32]", "x[None] adds the batch axis"])
        self.say(3, *run, here / "f64.npy", says=["the file holds f64", "x.astype(numpy.float32)"])
        self.say(3, *run, here / "u8.npy", says=["the file holds u8", "x.astype(numpy.float32)"])
        self.say(12, "run", here / "fixed.onnx", says=["input 'x' f32[1, 3, 32, 32] was not given", "--image FILE a picture"])
        self.say(33, *run, here / "fortran.npy", says=["Fortran order, need C order", "numpy.ascontiguousarray"])
        np.save(here / "g", np.zeros((1, 3), np.float32))
        gradient = ("run", here / "fixed.onnx", "--gradient", "--input", f"x={here / 'x.npy'}")
        self.say(35, *gradient, f"grad yy={here / 'g.npy'}", says=["no input 'grad yy'; did you mean 'grad y'?"])

    def test_files(self):
        here = self.folder
        self.say(4, "run", here / "fixd.onnx", "--image", IMAGE, says=['fixd.onnx" does not exist; did you mean \'fixed.onnx\'?'])
        self.say(5, "run", MODEL, "--image", here / "no.jpg", says=["no.jpg: there is no such file"])
        self.say(5, "run", MODEL, "--image", IMAGE, "--labels", here / "no.txt", says=["no.txt: there is no such file"])
        self.say(6, "run", MODEL, "--image", IMAGE, "--labels", here / "labels.txt", says=["there are 2 labels", "has 20 classes"])
        self.say(23, "bench", here / "external.onnx", says=['external data of tensor "w": "ext.data": No such file'])
        shutil.copy(IMAGE, here / "picture.onnx")
        for name in ("picture.onnx", "x.npy"):
            self.say(24, "bench", here / name, says=["is not an ONNX model, or it is cut short or damaged"])
        self.say(24, "run", here / "x.npy", says=["is not an ONNX model"])
        self.say(24, "run", ROOT / "ops" / "conv.tile", says=["needs the type and shape of tensor", '--tensor "', "--function names another"])
        self.say(26, "run", MODEL, "--image", here / "picture.webp", says=["need JPEG, PNG, BMP or GIF"])
        self.say(27, "run", MODEL, "--image", here / "nothing", says=["the folder has no pictures; need JPEG, PNG, BMP or GIF"])
        self.say(34, "run", MODEL, "--image", IMAGE, "--output", here / "y.jpg", says=["FILE.npy, FILE.png or into a folder"])
        self.say(34, "run", MODEL, "--image", IMAGE, "--output", "-", says=["FILE.npy, FILE.png or into a folder"])

    def test_models(self):
        here = self.folder
        next_step = ["tilefuse operators lists what is supported; onnx.utils.extract_model"]
        self.say(7, "bench", here / "foreign.onnx", says=['operator "Attention" of domain "com.microsoft"', '("y")', *next_step])
        self.say(8, "bench", here / "boxes.onnx", says=['operator "NonMaxSuppression"', '("y")', *next_step])
        self.say(21, "bench", here / "fixed.onnx", "--batch", 4, says=["dimension 0 is 1 in the model; got 4", "export it with a dynamic axis"])
        self.say(22, "bench", here / "open.onnx", says=["dimension 2 of [batch, 3, height, width] is unknown", "--dim height=320"])
        self.say(13, "run", here / "list.onnx", "--image", IMAGE, says=["[1, 40], which is not [N, C, H, W] with 1 or 3 channels"])
        self.say(25, "run", here / "fixed.onnx", "--image", IMAGE, "--crop", 50, says=["makes the image 50 x 50, the model takes 32 x 32", "--size"])

    def test_words(self):
        self.say(9, "rnu", MODEL, says=["there is no verb 'rnu'; did you mean 'run'?"])
        self.say(10, "run", MODEL, "--imgae", IMAGE, says=["run has no option --imgae; did you mean '--image'?"])
        self.say(11, "verify", MODEL, "--images", IMAGE, says=["verify has no option --images", "tilefuse verify --help"])
        self.say(14, "bench", MODEL, "--precision", "fp61", says=["'fp61' is none of f16, bf16, tf32, int8"])
        self.say(19, "run", MODEL, "--image", IMAGE, "--preset", "imagenet", says=["need imagenet-caffe or imagenet-torch"])
        self.say(20, "run", MODEL, "--image", IMAGE, "--mean", "1,2", says=["need one number, or three with commas between"])
        self.say(29, "tune", MODEL, "--budget", "20sec", says=["'20sec' is not a time, need 90, 60s, 5m or 2h"])
        self.say(30, "hlep", says=["did you mean 'help'?"])
        self.say(30, "--verion", says=["did you mean '--version'?"])
        self.say(31, "run", MODEL, "--image", IMAGE, "--top", 0, says=["--top: Value 0 not in range 1 to 100000"])
        self.say(31, "bench", MODEL, "--precision", "int8", "--percentile", 200, says=["Value 200 not in range 50 to 100"])
        for welcome in ((), ("help",), ("--help",)):  # 30: no mistakes
            self.assertIn("Usage: tilefuse", self.succeed(*welcome))
        self.assertIn(" 0  ", self.succeed("explain", MODEL))  # 28: a table, no mistake

    def test_devices(self):
        self.say(15, "bench", MODEL, "--precision", "tf32", "--device", "cpu", says=["matrix units of NVIDIA devices", "precision f16 or bf16"])
        self.say(17, "bench", MODEL, "--device", "gpu", says=["there is no device 'gpu', need cpu", "tilefuse devices lists"], code=4)
        self.say(18, "bench", MODEL, "--device", "opencl:77", says=["opencl"], code=4)
        if "libcuda.so.1 is not there" in self.succeed("devices"):
            self.say(16, "bench", MODEL, "--device", "cuda", says=["libcuda.so.1 is not there: no NVIDIA driver is installed"], code=4)

    def test_tile(self):
        for name, says in (("wrong", ["wrong.tile:1:47: error: 'Z' is not defined", "^"]),
                           ("product", ["a subscript cannot hold a product of indices", "^"])):
            done = self.tool("run", self.folder / f"{name}.tile", "--tensor", "X=f32[4]")
            self.assertEqual(done.returncode, 2)
            for part in says:  # 32
                self.assertIn(part, done.stderr)


if __name__ == "__main__":
    main()
