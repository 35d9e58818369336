# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: running the program, reading tensors, skipping.

Environment: TILEFUSE_TOOL the program; TILEFUSE_ROOT the repository; TILEFUSE_DATA the folder of models and photographs
(../shared/data beside the repository when not said). A test file exits with 77 when all it had to do was skipped. Without
OpenCL, or LLVM for the CPU, their tests are skipped, but with CI set they fail; without the data they are skipped, but fail with
TILEFUSE_REQUIRE_DATA set.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np

ROOT = pathlib.Path(os.environ.get("TILEFUSE_ROOT", pathlib.Path(__file__).resolve().parents[2]))
TOOL = pathlib.Path(os.environ.get("TILEFUSE_TOOL", ROOT / "build" / "bin" / "tilefuse"))
DATA = pathlib.Path(os.environ.get("TILEFUSE_DATA", ROOT.parent / "shared" / "data"))
GLYPHS = ROOT / "examples" / "glyphs"
SKIPPED = 77


class ToolTest(unittest.TestCase):
    """One scratch folder per test; the kernel cache is one per class, so that models compile once."""

    @classmethod
    def setUpClass(cls):
        cls.shared_folder = pathlib.Path(tempfile.mkdtemp(prefix="tilefuse-test-"))
        cls.cache = cls.shared_folder / "cache.sqlite"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared_folder)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.shared_folder))

    def tool(self, *arguments, cache=None, **options):
        """Runs the program and returns what it did; nothing of the user's own cache is touched."""
        environment = dict(os.environ, TILEFUSE_CACHE=str(cache or self.cache), **options.pop("environment", {}))
        return subprocess.run([str(TOOL), *map(str, arguments)], env=environment, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, **options)

    def succeed(self, *arguments, **options):
        done = self.tool(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def refuse(self, *arguments, says=(), code=2, **options):
        """This exit code, one sentence on stderr that says all of `says`, and nothing on stdout."""
        done = self.tool(*arguments, **options)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        self.assertEqual(done.stdout, "")
        lines = [line for line in done.stderr.splitlines() if not line.startswith("tilefuse: note: ")]
        self.assertEqual(lines[0][:17], "tilefuse: error: ", done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)
        return done.stderr

    def need_device(self, device):
        if device.startswith("opencl") and not has_opencl():
            if os.environ.get("CI"):
                self.fail("no OpenCL device, and CI is set")
            self.skipTest("no OpenCL device")
        if device == "cpu" and "tilefuse_llvm.so is in none of" in devices_text():
            if os.environ.get("CI"):
                self.fail("built without LLVM, and CI is set")
            self.skipTest("built without LLVM")

    def need_data(self):
        if not DATA.is_dir():
            if os.environ.get("TILEFUSE_REQUIRE_DATA"):
                self.fail(f"{DATA} is missing")
            self.skipTest(f"{DATA} is missing")


def mnist_recipe(rest):
    """A recipe that trains a small network with normalisations on MNIST; `rest` follows its [data]."""
    place = DATA / "datasets" / "mnist_t10k"
    return f"""
model = "{DATA}/models/mnist_pytorch_bn/model.onnx"
[data]
train = "mnist:{place}/t10k-images-idx3-ubyte.gz,{place}/t10k-labels-idx1-ubyte.gz"
mean = [0.1307]
std = [0.3081]
threads = 1
""" + rest


def devices_text():
    return subprocess.run([str(TOOL), "devices"], stdout=subprocess.PIPE, text=True, check=True).stdout


def has_opencl():
    return any(re.match(r"opencl:\S+ .*usable$", line) for line in devices_text().splitlines())


def best_labels(text):
    """The first label under each picture's line of `run`."""
    return re.findall(r"^ +1 +\S+ +(.+)$", text, re.MULTILINE)


def compiled(text):
    return int(re.search(r"compiled (\d+)", text).group(1))


def searched(text):
    return int(re.search(r"searched (\d+)", text).group(1))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message: integers, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def read_pb(path):
    """A serialized TensorProto of the types above."""
    dims, kind, raw, floats = [], 1, None, b""
    for number, value in fields(pathlib.Path(path).read_bytes()):
        if number == 1:
            dims += [value] if isinstance(value, int) else packed(value)
        elif number == 2:
            kind = value
        elif number == 4:
            floats += value
        elif number == 9:
            raw = value
    return np.frombuffer(floats if raw is None else raw, TYPES[kind]).reshape(dims)


def read_png(path):
    """Pixels (row, column, channel) of a PNG of 8 bits a channel whose rows are stored as they are."""
    data = pathlib.Path(path).read_bytes()
    at, packed_rows = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            packed_rows += body
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(packed_rows), np.uint8).reshape(height, 1 + 3 * width)
    return rows[:, 1:].reshape(height, width, 3)


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def encode_varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """One protobuf field: an integer, or bytes or text with its length before it."""
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return encode_varint(number << 3 | 2) + encode_varint(len(data)) + data


def node(operator, inputs, outputs, name=""):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name)
            + field(4, operator))


def value_info(name, shape, kind=1):
    dims = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def float_tensor(name, shape, values):
    return (b"".join(field(1, size) for size in shape) + field(2, 1) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}f", *values)))


def onnx_model(nodes, inputs, outputs, initializers=(), opset=13):
    """A serialized ModelProto from serialized parts."""
    graph = b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, i) for i in initializers)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


def main():
    """Runs the tests of the file that calls it; says what was skipped."""
    program = unittest.main(exit=False, verbosity=1)
    result = program.result
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun == len(result.skipped) else 0)
