#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The execution provider in onnxruntime: results equal those of onnxruntime's own provider for the CPU. Runs in an environment
that has onnxruntime (environment.py); with TILEFUSE_NIGHTLY set on all models."""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import DATA, GLYPHS, ROOT, ToolTest, field, float_tensor, main, node, onnx_model, read_pb  # noqa: E402

import tilefuse  # noqa: E402

FEW = ["mnist_8", "micro_kws_fp32", "micro_kws_qdq", "micro_kws_qoperator", "cifar_cnn_pytorch"]
FEW_LIGHT = ["squeezenet"]
INFO, WARNING = 1, 2
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8, "tensor(int64)": np.int64}
CYCLES = """
import gc, sys, numpy, onnxruntime, tilefuse
def pages():
    return int(open("/proc/self/statm").read().split()[1])
for cycle in range(100):
    onnxruntime.register_execution_provider_library("tilefuse", tilefuse.ort_library())
    options = onnxruntime.SessionOptions()
    found = [d for d in onnxruntime.get_ep_devices() if d.ep_name == tilefuse.ORT_PROVIDER]
    options.add_provider_for_devices(found, {"threads": "1"})
    session = onnxruntime.InferenceSession(sys.argv[1], options)
    session.run(None, {"image": numpy.zeros((1, 3, 32, 32), numpy.float32)})
    del options, found, session
    gc.collect()
    onnxruntime.unregister_execution_provider_library("tilefuse")
    if cycle == 30:
        start = pages()
print((pages() - start) * 4096)
"""


def info(name, dims, number=1):
    """A tensor of ONNX's type of that number, float, whose dimensions are numbers or symbols."""
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, number) + field(2, shape)))


def integers(name, values, shape=None):
    shape = [len(values)] if shape is None else shape
    return (b"".join(field(1, size) for size in shape) + field(2, 7) + field(8, name)
            + field(9, struct.pack(f"<{len(values)}q", *values)))


def random_inputs(session, seed=0):
    random = np.random.default_rng(seed)
    feeds = {}
    for tensor in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
        feeds[tensor.name] = (random.random(shape) * (1 if "float" in tensor.type else 100)).astype(TYPES[tensor.type])
    return feeds


@contextlib.contextmanager
def stderr_to(path):
    """What the process writes to its stderr meanwhile, the libraries in it too."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class Provider(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        onnxruntime.register_execution_provider_library("tilefuse", tilefuse.ort_library())

    @classmethod
    def tearDownClass(cls):
        onnxruntime.unregister_execution_provider_library("tilefuse")
        super().tearDownClass()

    def session(self, model, level=WARNING, **provider_options):
        """A session with the provider, and what this logged when it was made."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = level
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == tilefuse.ORT_PROVIDER]
        self.assertEqual(len(devices), 1)
        options.add_provider_for_devices(devices, provider_options)
        log = self.folder / "log"
        with stderr_to(log):
            # Some versions of its Python part would go on without the provider.
            session = onnxruntime.InferenceSession(str(model) if isinstance(model, pathlib.Path) else model, options,
                                                   enable_fallback=0)
        self.assertIn(tilefuse.ORT_PROVIDER, session.get_providers())
        return session, "\n".join(line for line in log.read_text(errors="replace").splitlines() if "tilefuse" in line)

    def reference(self, model):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(str(model) if isinstance(model, pathlib.Path) else model, options,
                                            providers=["CPUExecutionProvider"])

    def assert_near(self, got, want, tolerance):
        self.assertEqual([(g.shape, g.dtype) for g in got], [(w.shape, w.dtype) for w in want])
        for g, w in zip(got, want):
            finite = np.isfinite(w) if w.dtype.kind in "fiu" else np.zeros(w.shape, bool)
            np.testing.assert_array_equal(g[~finite], w[~finite])
            if not finite.any():
                continue
            g, w = g[finite], w[finite].astype(np.float64)
            scale = max(float(np.ptp(w)), float(np.abs(w).max()), 1e-30)
            self.assertLessEqual(float(np.abs(g.astype(np.float64) - w).max()) / scale, tolerance)

    def check_model(self, model, tolerance=1e-3):
        want, (session, log) = self.reference(model), self.session(model, INFO)
        taken = re.search(r"tilefuse takes (\d+) of (\d+) nodes? in", log)
        self.assertTrue(taken, log)
        left = int(taken.group(2)) - int(taken.group(1))
        self.assertEqual(left > 0, f"tilefuse leaves to onnxruntime {left} node" in log, log)
        feeds = random_inputs(want)
        self.assert_near(session.run(None, feeds), want.run(None, feeds), tolerance)
        print(f"{model.parent.name}/{model.stem}: {taken.group(0)}", flush=True)

    def test_models(self):
        self.need_data()
        self.need_device("cpu")
        nightly = os.environ.get("TILEFUSE_NIGHTLY")
        models = sorted(path.name for path in (DATA / "models").iterdir()) if nightly else FEW
        light = sorted((DATA / "models_light").glob("*.onnx")) if nightly else [
            DATA / "models_light" / f"light_{name}.onnx" for name in FEW_LIGHT]
        for model in [DATA / "models" / name / "model.onnx" for name in models] + light:
            with self.subTest(model):
                name = model.parent.name
                is_quantised = any(word in name for word in ("qdq", "qoperator", "int8"))
                self.check_model(model, 2e-1 if is_quantised else 2e-2 if "fp16" in name else 1e-3)

    def test_node_tests(self):
        """Models of single operators: what is taken is right, and nothing else fails."""
        if not os.environ.get("TILEFUSE_NIGHTLY"):
            self.skipTest("at night")
        self.need_data()
        self.need_device("cpu")
        for archive in sorted((DATA / "onnx_node_tests").glob("*.tar.xz")):
            with tarfile.open(archive) as packed:
                packed.extractall(self.folder)
        taken = 0
        for model in sorted(self.folder.rglob("model.onnx")):
            with self.subTest(model.parent.name):
                try:
                    want = self.reference(model)
                    feeds = {tensor.name: read_pb(model.parent / "test_data_set_0" / f"input_{i}.pb")
                             for i, tensor in enumerate(want.get_inputs())}
                    expected = want.run(None, feeds)
                except Exception:  # what onnxruntime cannot run itself
                    continue
                session, log = self.session(model, INFO, min_nodes="1", threads="1", cache="", records="")
                taken += "tilefuse takes none" not in log
                half = any(tensor.dtype == np.float16 for tensor in expected)
                self.assert_near(session.run(None, feeds), expected, 2e-3 if half else 1e-4)
        self.assertGreater(taken, 350)

    def test_detector_is_split(self):
        self.need_data()
        self.need_device("cpu")
        nodes = [node("Slice", ["output", "zero", "four", "two"], ["boxes"]), node("Slice", ["output", "four", "five", "two"], ["objects"]),
                 node("Reshape", ["objects", "one_class"], ["scores"]),
                 node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["selected"], "suppress"),
                 node("Slice", ["selected", "two", "three", "one"], ["column"]), node("Reshape", ["column", "flat"], ["which"]),
                 node("Reshape", ["output", "rows"], ["all"]), node("Gather", ["all", "which"], ["gathered"]),
                 node("Relu", ["gathered"], ["kept"])]
        tensors = [integers(name, [value]) for value, name in enumerate(("zero", "one", "two", "three", "four", "five"))]
        tensors += [integers("flat", [-1]), integers("one_class", [1, 1, 3549]), integers("rows", [3549, 85]),
                    integers("most", [20], []), float_tensor("overlap", [], [0.5]), float_tensor("least", [], [0])]
        selected = field(1, "selected") + field(2, field(1, field(1, 7)))
        # Messages that are joined are merged: the nodes follow those of the file.
        tail = b"".join(field(1, n) for n in nodes) + b"".join(field(5, t) for t in tensors)
        tail += field(12, selected) + field(12, info("kept", ["boxes", 85]))
        model = (DATA / "models" / "yolox_nano" / "model.onnx").read_bytes() + field(7, tail)
        want, (session, log) = self.reference(model), self.session(model)
        self.assertIn("operator \"NonMaxSuppression\"", log)
        self.assertIn("(suppress)", log)
        self.assertIn("the size of what it reads depends on data", log)
        for seed in range(3):
            feeds = {name: 255 * image for name, image in random_inputs(want, seed).items()}
            got, expected = session.run(None, feeds), want.run(None, feeds)
            self.assertGreater(len(expected[1]), 1)
            np.testing.assert_array_equal(got[1], expected[1])
            self.assert_near(got, expected, 1e-3)

    def test_open_sizes(self):
        self.need_device("cpu")
        filters = np.random.default_rng(1).standard_normal((8, 3, 3, 3)).astype(np.float32)
        model = onnx_model([node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["r"]), node("MaxPool", ["r"], ["y"]) +
                            field(5, field(1, "kernel_shape") + field(8, 2) + field(8, 2) + field(20, 7))],
                           [info("x", ["batch", 3, "height", "width"])], [info("y", ["batch", 8, "h", "w"]), info("r", [])],
                           [float_tensor("w", filters.shape, filters.ravel())])
        want, (session, log) = self.reference(model), self.session(model, INFO)
        self.assertIn("tilefuse takes 3 of 3 nodes in 1 group", log)
        for shape in ((1, 3, 8, 9), (2, 3, 7, 5), (1, 3, 8, 9)):
            feeds = {"x": np.random.default_rng(2).standard_normal(shape).astype(np.float32)}
            self.assert_near(session.run(None, feeds), want.run(None, feeds), 1e-5)

    def test_control_flow_is_left(self):
        """Its branches read what a group makes, and another group reads what it makes."""
        self.need_device("cpu")
        filters = np.random.default_rng(1).standard_normal((3, 3, 3, 3)).astype(np.float32)
        branches = []
        for name, operator in (("then_branch", "Identity"), ("else_branch", "Neg")):
            graph = field(1, node(operator, ["a"], [name])) + field(2, name) + field(12, info(name, [1, 3, 7, 7]))
            branches.append(field(5, field(1, name) + field(6, graph) + field(20, 5)))
        condition = field(1, "positive") + field(2, field(1, field(1, 9) + field(2, b"")))
        model = onnx_model([node("Conv", ["x", "w"], ["a"]), node("If", ["positive"], ["b"], "branch") + b"".join(branches),
                            node("Conv", ["b", "w"], ["c"]), node("Add", ["c", "shift"], ["d"]), node("Relu", ["d"], ["y"])],
                           [info("x", [1, 3, 9, 9]), condition, info("shift", [])], [info("y", [1, 3, 5, 5])],
                           [float_tensor("w", filters.shape, filters.ravel())])
        want, (session, log) = self.reference(model), self.session(model, INFO)
        self.assertIn("tilefuse takes 4 of 5 nodes in 2 groups", log)
        self.assertIn("control flow: 1 (branch)", log)
        for positive in (True, False):
            feeds = {"x": np.random.default_rng(2).standard_normal((1, 3, 9, 9)).astype(np.float32),
                     "positive": np.array(positive), "shift": np.array(0.5, np.float32)}
            self.assert_near(session.run(None, feeds), want.run(None, feeds), 1e-5)

    def test_integers(self):
        self.need_device("cpu")
        numbers = {np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5, np.int32: 6, np.int64: 7, np.uint32: 12, np.uint64: 13}

        def cast(read, made, number):
            return node("Cast", [read], [made]) + field(5, field(1, "to") + field(3, number) + field(20, 2))

        for kind, number in numbers.items():
            model = onnx_model([cast("x", "a", 1), node("Add", ["a", "one"], ["b"]), node("Abs", ["b"], ["c"]), cast("c", "y", number)],
                               [info("x", [6], number)], [info("y", [6], number)], [float_tensor("one", [1], [1])])
            want, (session, log) = self.reference(model), self.session(model, INFO, min_nodes="1")
            self.assertIn("tilefuse takes 4 of 4 nodes in 1 group", log)
            feeds = {"x": np.array([0, 1, 2, 7, 100, np.iinfo(kind).min // 2], kind)}
            np.testing.assert_array_equal(session.run(None, feeds)[0], want.run(None, feeds)[0])

    def test_threads(self):
        self.need_device("cpu")
        model = GLYPHS / "model.onnx"
        want = self.reference(model)
        sessions = [self.session(model, threads="1")[0] for _ in range(2)]

        def work(number):
            random = np.random.default_rng(number)
            for _ in range(20):
                feeds = {"image": random.random((1 + number % 3, 3, 32, 32), dtype=np.float32)}
                self.assert_near(sessions[number % 2].run(None, feeds), want.run(None, feeds), 1e-4)

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))

    def test_options(self):
        self.need_device("cpu")
        for options, says in (({"precison": "f16"}, "there is no option 'precison'"), ({"device": "abacus"}, "abacus"),
                              ({"fuse": "everything"}, "everything")):
            with self.assertRaises(Exception) as refused:  # of several kinds
                self.session(GLYPHS / "model.onnx", **options)
            self.assertIn(says, str(refused.exception))
        session, _ = self.session(GLYPHS / "model.onnx", cache_folder=str(self.folder))
        session.run(None, {"image": np.zeros((1, 3, 32, 32), np.float32)})
        self.assertTrue((self.folder / "kernels.sqlite").exists())

    def test_few_nodes_are_left(self):
        self.need_device("cpu")
        model = onnx_model([node("Relu", ["x"], ["y"], "single")], [info("x", [4])], [info("y", [4])])
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == tilefuse.ORT_PROVIDER]
        log = self.folder / "log"
        for least in (5, 1):
            options = onnxruntime.SessionOptions()
            options.add_provider_for_devices(devices, {"min_nodes": str(least)})
            with stderr_to(log):
                session = onnxruntime.InferenceSession(model, options)
            self.assertEqual("too few nodes in one place to pay: 1 (single)" in log.read_text(), least > 1)
            np.testing.assert_array_equal(session.run(None, {"x": np.array([-1, 0, 1, 2], np.float32)})[0], [0, 0, 1, 2])

    def test_cycles(self):
        self.need_device("cpu")
        done = subprocess.run([sys.executable, "-c", CYCLES, GLYPHS / "model.onnx"], check=True, capture_output=True, text=True)
        self.assertLess(int(done.stdout), 8 << 20)

    def test_readme(self):
        self.need_device("cpu")
        found = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
        block, = (text for text in found if "onnxruntime" in text)
        done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, check=True, capture_output=True, text=True)
        self.assertIn(tilefuse.ORT_PROVIDER, done.stdout)


if __name__ == "__main__":
    main()
