#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: arrays in and out, errors, threads, no growth."""
import gc
import json
import pathlib
import sys
import tempfile
import threading
import types
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import GLYPHS, main  # noqa: E402

import tilefuse as tf  # noqa: E402
from tilefuse import _arrays  # noqa: E402

SCALE = "function scale(X[N]; F) -> (Y) { Y = F * X; }"
MODEL = GLYPHS / "model.onnx"


def address(array):
    return array.__array_interface__["data"][0]


class Other:
    """An array of which all that is known is DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def resident():
    """Bytes of memory that this process holds."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


class Arrays(unittest.TestCase):
    def setUp(self):
        self.scale = tf.tile(SCALE, device=tf.Device("cpu", threads=1))

    def test_results_and_no_copies(self):
        x = np.arange(37, dtype=np.float32)
        y = self.scale(x, F=3)
        np.testing.assert_array_equal(y, 3 * x)
        self.assertEqual(self.scale.model(F=3).copies, 0)

    def test_memory_of_the_caller(self):
        model, x, y = self.scale.model(F=2), np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
        self.assertIs(model.run({"X": x}, out={"output_0": y})["output_0"], y)
        np.testing.assert_array_equal(y, 2 * x)
        self.assertEqual(model.copies, 0)

    def test_gaps_and_misalignment_are_copied_once(self):
        x = np.arange(40, dtype=np.float32)
        np.testing.assert_array_equal(self.scale(x[::4], F=2), 2 * x[::4])
        shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32)
        np.testing.assert_array_equal(self.scale(shifted, F=2), 2 * x)

    def test_read_only_and_lists(self):
        x = np.arange(4, dtype=np.float32)
        x.flags.writeable = False
        np.testing.assert_array_equal(self.scale(x, F=2), 2 * x)
        self.assertEqual(list(self.scale([1, 2, 3], F=2)), [2, 4, 6])

    def test_types(self):
        for name in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64"):
            with self.subTest(name):
                x = np.arange(1, 9).astype(name)
                y = tf.tile("function twice(X[N]) -> (Y) { Y = X + X; }", device=tf.Device("cpu", threads=1))(x)
                self.assertEqual(y.dtype, x.dtype)
                np.testing.assert_array_equal(y, x + x)

    def test_another_type_of_the_same_shape(self):
        twice = tf.tile("function twice(X[N]) -> (Y) { Y = X + X; }", device=tf.Device("cpu", threads=1))
        for name in ("float32", "int32", "float32"):
            self.assertEqual(twice(np.ones(4, name)).dtype, np.dtype(name))

    def test_dlpack(self):
        x = np.arange(8, dtype=np.float32)
        np.testing.assert_array_equal(self.scale(Other(x), F=2), 2 * x)


class OnCuda:
    """A tensor as torch has it on a GPU, without one: where its memory lies is told alone."""
    is_cuda, shape, dtype, device = True, (4,), "torch.float32", types.SimpleNamespace(index=0)

    def detach(self):
        return self

    def contiguous(self):
        return self

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return 256


OnCuda.__module__ = "torch"


class Places(unittest.TestCase):
    """What is told of an array's memory, whatever was bound before."""

    def test_a_slot_follows_its_arrays(self):
        slot = _arrays.Slot(0, 0, lambda *_bound: 0)
        host = np.zeros(4, np.float32)
        for array, on_device in ((OnCuda(), True), (Other(host), False), (OnCuda(), True), (host, False), (Other(host), False),
                                 (host, False), (OnCuda(), True)):
            self.assertEqual(slot.set(array), 0)
            self.assertIs(slot.on_device, on_device, type(array))


class Models(unittest.TestCase):
    def setUp(self):
        self.model = tf.load(MODEL, tf.Device("cpu", threads=1), batch=1)

    def picture(self):
        return np.random.default_rng(1).random(self.model.inputs[0].shape, dtype=np.float32)

    def test_ports(self):
        image, = self.model.inputs
        self.assertEqual(image.dtype, "float32")
        self.assertEqual(len(image.shape), 4)
        self.assertEqual(len(self.model.outputs), 1)

    def test_bytes_and_names(self):
        x = self.picture()
        again = tf.load(MODEL.read_bytes(), self.model.device, batch=1)
        scores, = self.model(x)
        np.testing.assert_array_equal(again.run({self.model.inputs[0].name: x})[self.model.outputs[0].name], scores)

    def test_work(self):
        x = self.picture()
        self.model(x)
        self.assertIn("agree with the reference", self.model.verify(8))
        self.assertIn("---- candidates ----", self.model.explain(0))
        timing = self.model.bench(3)
        self.assertGreater(timing.median, 0)
        self.assertEqual(len(timing.kernels), self.model.info["kernels"])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.json"
            self.model.profile(path)
            self.assertEqual(len(json.loads(path.read_text())["traceEvents"]), len(timing.kernels))

    def test_gradient(self):
        gradient = self.model.gradient("weights")
        self.assertGreaterEqual(len(gradient.inputs), 2)
        results = gradient(*(np.ones(tensor.shape, np.float32) for tensor in gradient.inputs))
        self.assertEqual(len(results), len(gradient.outputs))

    def test_precision(self):
        x = self.picture()
        exact, = self.model(x)
        for options in ({"precision": "f16"}, {"precision": "int8", "calibrate": [x]}):
            near, = tf.load(MODEL, self.model.device, batch=1, **options)(x)
            self.assertLess(np.abs(near - exact).max(), 0.1 * np.abs(exact).max())

    def test_threads(self):
        x = self.picture()
        expected, = self.model(x)
        failures = []

        def work():
            for _ in range(20):
                if not np.array_equal(self.model(x)[0], expected):
                    failures.append("differs")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class Errors(unittest.TestCase):
    def refused(self, code, function, *arguments, **named):
        with self.assertRaises(tf.Error) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)

    def test_sentences(self):
        self.assertIn("does not exist", self.refused("io", tf.load, "/nowhere.onnx"))
        self.assertIn("there is no device 'tpu'", self.refused("device", tf.Device, "tpu"))
        self.assertIn("there is no option", self.refused("unsupported", tf.load, MODEL, options={"precison": "f16"}))
        self.assertIn("need a path", self.refused("type", tf.load, 3))
        model = tf.load(MODEL, batch=1)
        self.assertIn("got f32[4]", self.refused("shape", model, np.zeros(4, np.float32)))
        self.assertIn("got f64", self.refused("type", model, np.zeros(model.inputs[0].shape)))
        self.assertIn("is missing", self.refused("shape", model.run, {}))
        self.assertIn("no input 'x y'", self.refused("shape", model.run, {"x y": 1}))

    def test_interrupts_pass(self):
        def stop(_done, _all):
            raise KeyboardInterrupt

        model = tf.load(MODEL, batch=1)
        with self.assertRaises(KeyboardInterrupt):
            model.verify(4, progress=stop)
        self.assertIn("cancelled", self.refused("cancelled", model.verify, 4, progress=lambda _done, _all: False))


class Growth(unittest.TestCase):
    def test_ten_thousand_runs(self):
        scale = tf.tile(SCALE, device=tf.Device("cpu", threads=1))
        x = np.arange(1000, dtype=np.float32)

        def some(runs):
            for _ in range(runs):
                scale(x, F=2)
            gc.collect()
            return resident()

        before = some(1000)
        self.assertLess(some(10000), before + (1 << 20))


class Opencl(unittest.TestCase):
    """Arrays of pyopencl, in the queue that is theirs."""

    def setUp(self):
        try:
            import pyopencl
            import pyopencl.array
        except ImportError:
            self.skipTest("pyopencl is missing")
        device = pyopencl.get_platforms()[0].get_devices()[0]
        self.cl = pyopencl
        self.queue = pyopencl.CommandQueue(pyopencl.Context([device]))
        self.scale = tf.tile(SCALE, device=tf.Device("opencl", queue=self.queue))

    def test_nothing_is_copied(self):
        x = self.cl.array.to_device(self.queue, np.arange(64, dtype=np.float32))
        y = self.scale(self.scale(x, F=2) + 1, F=3)
        np.testing.assert_array_equal(y.get(), 3 * (2 * np.arange(64, dtype=np.float32) + 1))
        self.assertIsInstance(y, self.cl.array.Array)
        self.assertEqual(self.scale.model(F=3).copies, 0)

    def test_the_host_and_the_device(self):
        model = tf.tile("function add(A[N], B[N]) -> (Y) { Y = A + B; }", device=self.scale.model(F=2).device)
        x = np.arange(64, dtype=np.float32)
        on_device = self.cl.array.to_device(self.queue, x) + 1
        np.testing.assert_array_equal(model(on_device, x).get(), 2 * x + 1)
        np.testing.assert_array_equal(model(x, on_device), 2 * x + 1)

    def behind_an_event(self, queue):
        """What is queued there from now on begins when the result is set."""
        event = self.cl.UserEvent(queue.context)
        self.cl.enqueue_barrier(queue, wait_for=[event])
        return event

    def test_arrays_of_two_queues(self):
        """The run lies behind the work of both, and what comes later in either behind the run."""
        other = self.cl.CommandQueue(self.queue.context)
        add = tf.tile("function add(A[N], B[N]) -> (Y) { Y = A + B; }", device=self.scale.model(F=2).device)
        a = self.cl.array.to_device(self.queue, np.ones(64, np.float32))
        b = self.cl.array.to_device(other, np.ones(64, np.float32))
        add(a, b)  # memory and code are there then
        event = self.behind_an_event(other)
        b.fill(3)
        y = add(a, b)
        self.queue.flush()
        event.set_status(self.cl.command_execution_status.COMPLETE)
        np.testing.assert_array_equal(y.get(), np.full(64, 4, np.float32))
        event = self.behind_an_event(self.queue)
        y = add(a, b)
        b.fill(7)
        other.flush()
        event.set_status(self.cl.command_execution_status.COMPLETE)
        np.testing.assert_array_equal(y.get(), np.full(64, 4, np.float32))

    def test_arrays_without_a_queue(self):
        x = self.cl.array.to_device(self.queue, np.arange(64, dtype=np.float32)).with_queue(None)
        y = self.scale(x, F=3)
        self.assertIsNone(y.queue)
        np.testing.assert_array_equal(y.get(self.queue), 3 * np.arange(64, dtype=np.float32))

    def test_a_model_without_inputs(self):
        """Outputs are of the kind of those that are given."""
        model = tf.tile("function three() -> (Y, Z) { Y = fill(3.0, 64); Z = 2.0 * Y; }",
                        device=self.scale.model(F=2).device).model()
        y = self.cl.array.zeros(self.queue, 64, np.float32)
        results = model.run({}, out={"fill": y})
        self.assertIs(results["fill"], y)
        np.testing.assert_array_equal(y.get(), np.full(64, 3))
        np.testing.assert_array_equal(results["Z"].get(), np.full(64, 6))
        self.assertIsInstance(model()[0], np.ndarray)

    def test_gaps_are_refused(self):
        x = self.cl.array.to_device(self.queue, np.arange(64, dtype=np.float32))
        with self.assertRaisesRegex(tf.Error, "without gaps"):
            self.scale(x[::2], F=2)


class Torch(unittest.TestCase):
    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is missing")
        self.torch = torch
        self.scale = tf.tile(SCALE, device=tf.Device("cpu", threads=1))

    def test_tensors_in_and_out(self):
        x = self.torch.arange(16, dtype=self.torch.float32)
        y = self.scale(x, F=3)
        self.assertIsInstance(y, self.torch.Tensor)
        self.assertTrue(self.torch.equal(y, 3 * x))
        self.assertEqual(self.scale.model(F=3).copies, 0)

    def test_autograd(self):
        x = self.torch.arange(1.0, 9.0, requires_grad=True)
        square = tf.tile("function square(X[N]) -> (Y) { Y = X * X; }")
        square(x).sum().backward()
        self.assertTrue(self.torch.equal(x.grad, 2 * x.detach()))


class TorchOnCuda(unittest.TestCase):
    """Tensors of a GPU, in torch's own stream."""

    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is missing")
        if not torch.cuda.is_available():
            self.skipTest("torch has no GPU")
        self.torch = torch
        self.scale = tf.tile(SCALE, device="cuda:0")

    def test_nothing_is_copied(self):
        x = self.torch.arange(64, dtype=self.torch.float32, device="cuda")
        y = self.scale(self.scale(x, F=2) + 1, F=3)
        self.assertTrue(self.torch.equal(y, 3 * (2 * x + 1)))
        self.assertEqual(y.device, x.device)
        self.assertEqual(self.scale.model(F=3).copies, 0)

    def test_memory_of_the_caller(self):
        model = self.scale.model(F=2)
        x, y = self.torch.ones(64, device="cuda"), self.torch.zeros(64, device="cuda")
        self.assertIs(model.run({"X": x}, out={"output_0": y})["output_0"], y)
        self.assertTrue(self.torch.equal(y, 2 * x))

    def test_behind_what_the_stream_does(self):
        """The call returns while what was queued before it is under way, and works on what that leaves."""
        x = self.torch.zeros(1 << 20, device="cuda")
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream):
            self.scale(x, F=3)  # memory and code are there then
            stream.synchronize()
            self.torch.cuda._sleep(400_000_000)
            x.fill_(2)
            y = self.scale(x, F=3)
            self.assertFalse(stream.query(), "the call waited")
            stream.synchronize()
            self.assertTrue(bool((y == 6).all()))

    def test_streams_take_turns(self):
        x = self.torch.ones(1 << 20, device="cuda")
        streams = [self.torch.cuda.Stream() for _ in range(3)]
        self.torch.cuda.synchronize()
        for turn in range(12):
            with self.torch.cuda.stream(streams[turn % 3]):
                self.assertEqual(float(self.scale(x, F=turn % 2 + 1)[-1]), turn % 2 + 1)

    def test_a_stream_that_a_device_has(self):
        stream = self.torch.cuda.Stream()
        scale = tf.tile(SCALE, device=tf.Device("cuda:0", queue=stream))
        x = np.ones(64, np.float32)
        np.testing.assert_array_equal(scale(x, F=2), 2 * x)

    def test_ten_thousand_runs(self):
        x = self.torch.ones(64, device="cuda")
        for _ in range(100):
            y = self.scale(x, F=2)
        before = self.torch.cuda.mem_get_info()[0]
        for _ in range(10000):
            y = self.scale(x, F=2)
        self.torch.cuda.synchronize()
        self.assertLess(before - self.torch.cuda.mem_get_info()[0], 8 << 20)
        self.assertTrue(self.torch.equal(y, 2 * x))


if __name__ == "__main__":
    main()
