#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear sentence, exit code 2, nothing written. Hostile names reach no generated source."""
import resource
import struct
import zlib

import numpy as np

from support import GLYPHS, ToolTest, field, float_tensor, main, node, onnx_model, value_info

MODEL = GLYPHS / "model.onnx"
IMAGE = GLYPHS / "images" / "01.png"


def png(width, height):
    """A PNG's head that claims this size."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")


class RefusalTest(ToolTest):
    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def refuse_run(self, *arguments, says=(), code=2):
        """`run` refuses, and leaves its output unwritten."""
        out = self.folder / "out"
        text = self.refuse("run", *arguments, "--output", out, says=says, code=code)
        self.assertFalse(out.exists())
        return text


class BadInput(RefusalTest):
    def test_gradient_by_an_unknown_name(self):
        self.refuse("fusion", MODEL, "--gradient=nope", says=["no input or constant 'nope'", "its inputs are "])

    def test_verbs(self):
        self.refuse("recognise", MODEL, says=["there is no verb 'recognise'"])
        self.assertEqual(self.succeed(), self.succeed("--help"))

    def test_schedule_tree_of_a_network(self):
        self.refuse("explain", MODEL, "--schedule-tree", says=["the last sum of the program is told of"])
        self.refuse("explain", MODEL, "--schedule-tree", "--kernel", "0", says=["--kernel"])

    def test_batch_of_a_model_without_one(self):
        info = ([value_info("x", [1, 4])], [value_info("y", [1, 4])])
        path = self.file("one.onnx", onnx_model([node("Relu", ["x"], ["y"])], *info))
        self.refuse("bench", path, "--batch", "8", says=["is 1 in the model; got 8", "leaves open"])

    def test_int8_without_calibration(self):
        self.refuse("bench", MODEL, "--precision", "int8", says=["needs inputs to calibrate with", "--calibrate FILE"])
        self.refuse("tune", MODEL, "--precision", "int8", says=["needs inputs to calibrate with"])

    def test_not_an_image(self):
        jpeg = b"\xff\xd8\xff\xe0 and no more"
        cases = ((b"", "not an image"), (b"hello", "not an image"), (jpeg, "the JPEG is damaged or truncated"),
                 (IMAGE.read_bytes()[:300], "damaged or truncated"))
        for number, (data, reason) in enumerate(cases):
            path = self.file(f"{number}.png", data)
            self.refuse_run(MODEL, "--image", path, says=[path.name, reason])
        self.refuse_run(MODEL, "--image", self.folder / "absent.png", says=["absent.png", "no such file"])
        self.refuse_run(MODEL, "--image", self.folder / "empty", says=["no such file"])
        (self.folder / "empty").mkdir()
        self.refuse_run(MODEL, "--image", self.folder / "empty", says=["the folder has no pictures"])

    def test_image_too_big(self):
        self.refuse_run(MODEL, "--image", self.file("big.png", png(10000, 10000)), says=["10000 x 10000", "64 megapixels"])
        self.refuse_run(MODEL, "--image", self.file("huge.png", png(1 << 20, 1 << 20)), says=["64 megapixels"])

    def test_second_image_bad_writes_nothing(self):
        self.refuse_run(MODEL, "--image", IMAGE, self.file("bad.png", b"no"), says=["bad.png"])

    def test_labels(self):
        labels = self.file("labels.txt", "one\ntwo\n")
        self.refuse_run(MODEL, "--image", IMAGE, "--labels", labels, says=["2 labels", "20 classes"])
        self.refuse_run(MODEL, "--image", IMAGE, "--labels", self.folder / "none.txt", says=["none.txt", "no such file"])

    def test_settings(self):
        for option, value, word in (("--size", "0x5", "size"), ("--size", "12y12", "size"), ("--mean", "1,2", "mean"),
                                    ("--std", "0", "std"), ("--order", "gbr", "order"), ("--preset", "magic", "preset"),
                                    ("--layout", "chw", "layout"), ("--scale", "1/0", "scale"), ("--crop", "-4", "crop")):
            self.refuse_run(MODEL, "--image", IMAGE, f"{option}={value}", says=[word, "need"])
        self.refuse_run(MODEL, "--image", IMAGE, "--size", "40x40", says=["40 x 40", "32 x 32"])
        self.refuse_run(MODEL, "--image", IMAGE, "--crop", "500", says=["cannot crop"])
        toml = self.file("bad.toml", 'size = "32x32"\ncolour = "red"\n')
        self.refuse_run(MODEL, "--image", IMAGE, "--preprocess", toml, says=["bad.toml:2", "colour"])
        self.refuse_run(MODEL, "--image", IMAGE, "--preprocess", self.file("worse.toml", "size = = 3"), says=["worse.toml:1"])

    def test_settings_that_are_not_finite(self):
        for number, line in enumerate(("std = 1e-320", "std = [1, 1, 1e39]", "mean = inf", "mean = nan", "mean = 1e300",
                                       'scale = "1e308/1e-308"', "std = 1e-30\nmean = 1e20")):
            toml = self.file(f"{number}.toml", f'size = "32x32"\n{line}\n')
            self.refuse_run(MODEL, "--image", IMAGE, "--preprocess", toml, says=["need"])

    def test_memory_that_is_not_there(self):
        """A limit of the machine, not a fault of the program."""
        kernel = self.file("big.kernel", "kernel big blocks 1 block_size 1 flops 1 bytes 1 {\n  global b0 f32[900000000]\n"
                                         "  b0[block] = f32(0)\n}\n")
        done = self.tool("simulate", "--from=kernel", kernel,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("tilefuse: error: out of memory", done.stderr)

    def test_threads_that_are_not_there(self):
        self.need_device("cpu")
        done = self.tool("run", MODEL, "--device", "cpu", "--image", IMAGE, "--threads", 1000,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)))
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"the system gives \d+ of 1000 threads")

    def test_simulating_what_is_too_large(self):
        tile = self.file("relu.tile", "function relu(X) -> (Y) {\n  Y = max(X, 0);\n}\n")
        for blocks in ("all", "0"):
            self.refuse("simulate", "--from=tile", tile, "--tensor", "X=f32[80000000000]", "--blocks", blocks,
                        says=["needs 1831055 MiB for 3 copies of its buffers, at most 4096 are taken"])

    def test_wrong_tensors(self):
        np.save(self.folder / "shape.npy", np.zeros((1, 3, 16, 16), np.float32))
        np.save(self.folder / "type.npy", np.zeros((1, 3, 32, 32), np.float64))
        np.save(self.folder / "good.npy", np.zeros((1, 3, 32, 32), np.float32))
        self.refuse_run(MODEL, "--input", f"image={self.folder / 'shape.npy'}", says=["image", "32", "16"])
        self.refuse_run(MODEL, "--input", f"image={self.folder / 'type.npy'}", says=["image", "f32", "f64"])
        self.refuse_run(MODEL, "--input", f"picture={self.folder / 'good.npy'}", says=["picture", "image"])
        good = f"image={self.folder / 'good.npy'}"
        self.refuse_run(MODEL, "--input", good, "--input", good, says=["twice"])
        self.refuse_run(MODEL, says=["image", "not given"])

    def test_damaged_tensors(self):
        np.save(self.folder / "good.npy", np.zeros((1, 3, 32, 32), np.float32))
        good = (self.folder / "good.npy").read_bytes()
        huge = good.replace(b"(1, 3, 32, 32)", b"(99999999999,)")
        for number, data in enumerate((b"", good[:5], good[:40], good[:-1], good + b"x", huge, b"\x93NUMPY\x09\0" + good[8:],
                                       good.replace(b"'descr'", b"'decsr'"), good.replace(b"<f4", b">f4"))):
            path = self.file(f"{number}.npy", data)
            self.refuse_run(MODEL, "--input", f"image={path}", says=[path.name])
        np.save(self.folder / "f.npy", np.asfortranarray(np.zeros((4, 3), np.float32)))
        self.refuse_run(MODEL, "--input", f"image={self.folder / 'f.npy'}", says=["Fortran"])
        self.refuse_run(MODEL, "--input", f"image={self.file('a.pb', b'garbage garbage')}", says=["a.pb"])
        self.refuse_run(MODEL, "--input", f"image={self.file('a.txt', b'1 2 3')}", says=["a.txt", ".npy or .pb"])

    def test_unknown_device(self):
        self.refuse_run(MODEL, "--image", IMAGE, "--device", "abacus", says=["abacus", "cpu"], code=4)
        self.refuse_run(MODEL, "--image", IMAGE, "--device", "opencl:99", says=["99"], code=4)

    def test_bad_command_lines(self):
        for arguments in (("fly",), ("run",), ("run", MODEL, "--top", "0"), ("run", MODEL, "--batch", "0"),
                          ("run", MODEL, "--no-such-option"), ("bench",)):
            self.refuse(*arguments)

    def test_output_that_cannot_be_written(self):
        self.need_device("cpu")
        (self.folder / "file").write_text("here")
        (self.folder / "dir.npy").mkdir()
        for place in ("file/out.npy", "file/out", "dir.npy"):
            self.refuse("run", MODEL, "--device", "cpu", "--image", IMAGE, "--output", self.folder / place)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["dir.npy", "file"])
        self.assertEqual((self.folder / "file").read_text(), "here")


class BadModels(RefusalTest):
    def refuse_model(self, data, *says):
        path = self.file("m.onnx", data)
        text = self.refuse_run(path, says=says)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["m.onnx"])
        return text

    def test_not_a_model(self):
        for data in (b"", b"hello, this is text", b"\0" * 1000, b"\xff" * 1000):
            self.refuse_model(data, "m.onnx")
        self.refuse_run(self.folder / "absent.onnx", says=["absent.onnx"])
        self.refuse_run(self.folder)

    def test_truncated(self):
        whole = MODEL.read_bytes()
        for size in {*range(1, 200, 13), *(len(whole) * k // 12 for k in range(1, 12)), len(whole) - 1}:
            self.refuse_model(whole[:size])

    def test_unknown_operators_are_all_listed(self):
        nodes = [node("Frobnicate", ["x"], ["a"], "first"), node("Relu", ["a"], ["b"], "fine"),
                 node("Quuxify", ["b"], ["y"], "second")]
        self.refuse_model(onnx_model(nodes, [value_info("x", [1, 4])], [value_info("y", [1, 4])]),
                          "Frobnicate", "first", "Quuxify", "second")

    def test_sizes_that_overflow(self):
        for shape in ([1 << 40, 1 << 40], [1 << 62, 8], [(1 << 63) - 1], [3037000500, 3037000500]):
            self.refuse_model(onnx_model([node("Relu", ["x"], ["y"])], [value_info("x", shape)], [value_info("y", shape)]))

    def test_negative_and_empty_sizes(self):
        self.refuse_model(onnx_model([node("Relu", ["x"], ["y"])], [value_info("x", [1, -5])], [value_info("y", [1, -5])]))

    def test_cycles_and_missing_tensors(self):
        info = [value_info("x", [4])], [value_info("y", [4])]
        self.refuse_model(onnx_model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])],
                                     *info))
        self.refuse_model(onnx_model([node("Relu", ["nowhere"], ["y"])], *info), "nowhere")

    def test_external_data_outside(self):
        (self.shared_folder / "secret.bin").write_bytes(b"\0" * 64)
        for place in ("../secret.bin", "/etc/hostname", str(self.shared_folder / "secret.bin"), "a/../../secret.bin"):
            outside = field(1, 4) + field(2, 1) + field(8, "w") + field(14, 1)
            outside += field(13, field(1, "location") + field(2, place)) + field(13, field(1, "length") + field(2, "16"))
            model = onnx_model([node("Add", ["x", "w"], ["y"])], [value_info("x", [4])], [value_info("y", [4])], [outside])
            self.refuse_model(model, "w")

    def test_weight_of_wrong_size(self):
        model = onnx_model([node("Add", ["x", "w"], ["y"])], [value_info("x", [4])], [value_info("y", [4])],
                           [float_tensor("w", [4], [1.0, 2.0])])
        self.refuse_model(model, "w")


HOSTILE = ['";system("true");//', "line\nbreak", "*/ #error", "a'b\"c", "%s%n", "$(touch x)", "../../x", "\u00fcber \u2603", "\x1b[31m",
           "float global;", "x" * 3000]


class HostileNames(ToolTest):
    def run_named(self, device, name):
        path = self.folder / "m.onnx"
        model = onnx_model([node("Mul", [name, name + "w"], [name + "t"], name), node("Relu", [name + "t"], [name + "y"], name)],
                           [value_info(name, [2, 5])], [value_info(name + "y", [2, 5])],
                           [float_tensor(name + "w", [5], [1.0, -1.0, 2.0, -2.0, 0.5])])
        path.write_bytes(model)
        x = np.random.default_rng(1).uniform(-1, 1, (2, 5)).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        out, dump = self.folder / "out", self.folder / "dump"
        text = self.succeed("run", path, "--device", device, "--input", f"{name}={self.folder / 'x.npy'}", "--output", out,
                            "--dump", dump, "--verbose", "--no-cache")
        expected = np.maximum(x * np.array([1, -1, 2, -2, 0.5], np.float32), 0)
        np.testing.assert_allclose(np.load(*out.iterdir()), expected, rtol=1e-6)
        self.assertNotIn("\x1b", text)
        for level in dump.iterdir():
            if level.suffix not in (".txt", ".html"):
                self.assertNotIn(name, level.read_text(), level.name)

    def check(self, device):
        self.need_device(device)
        for name in HOSTILE:
            with self.subTest(name=name[:40]):
                self.setUp()
                self.run_named(device, name)
                self.assertEqual({p.name for p in self.folder.iterdir()}, {"m.onnx", "x.npy", "out", "dump"})

    def test_cpu(self):
        self.check("cpu")

    def test_opencl(self):
        self.check("opencl")


if __name__ == "__main__":
    main()
