# SPDX-License-Identifier: Apache-2.0
"""Models: read, compiled for a device, run."""
from __future__ import annotations

import ctypes
import io
import json
import os
import pathlib
import threading
from ctypes import byref, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _arrays
from ._library import DLTensor, Error, TensorInfo, Watched, check, lib, option_list, taken
from .device import Device

Sizes = Mapping[str, Union[int, Sequence[int]]]


@dataclass(frozen=True)
class Tensor:
    """An input or output: its name, its type ("float32"; "" for any) and its shape, in which an open size is its name or
    None. A shape of None: any."""
    name: str
    dtype: str
    shape: Optional[Tuple[Union[int, str, None], ...]]


@dataclass(frozen=True)
class Timing:
    """Seconds of runs on random input, and the kernels of one by the device's clock."""
    median: float
    p10: float
    p90: float
    runs: int
    kernels: List[Dict[str, Any]]


class _Run:
    """A run of the library with its ports, for one thread."""

    def __init__(self, compiled: int, inputs: int) -> None:
        handle = c_void_p()
        check(lib.tf_run_create(compiled, byref(handle)))
        self.handle = handle.value or 0
        self.inputs = [_arrays.bind_input(self.handle, i) for i in range(inputs)]
        self.outputs: List[_arrays.Slot] = []
        self.slots: List[_arrays.Slot] = []  # all of both
        self.forms: List[Tuple[Tuple[int, ...], str]] = []  # of outputs at these shapes
        self.input_forms: Any = None

    def bind(self, arrays: Sequence[Any]) -> None:
        """Binds all inputs, and finds out what the outputs are where shapes are new."""
        for slot, array in zip(self.inputs, arrays):
            status = slot.set(array)
            if status:
                check(status)
        forms = [slot.form for slot in self.inputs]
        if forms != self.input_forms or None in forms:
            self.prepare()
            self.input_forms = forms

    def prepare(self, progress: Any = None) -> None:
        count, watched = c_size_t(), Watched(progress)
        watched.check(lib.tf_run_prepare(self.handle, watched.callback, None, byref(count)))
        self.forms = []
        for index in range(count.value):
            tensor = DLTensor()
            check(lib.tf_run_output(self.handle, index, byref(tensor)))
            self.forms.append((_arrays.shape_of(tensor.shape, tensor.ndim), _arrays.type_name(tensor.dtype)))
        self.outputs = [_arrays.bind_output(self.handle, i) for i in range(count.value)]
        self.slots = self.inputs + self.outputs

    def execute(self, arrays: Sequence[Any], out: Mapping[int, Any]) -> Tuple[Any, ...]:
        """Outputs that `out` has no array for are of the kind of the first array, of an output's where no input is."""
        example = next(iter(arrays or out.values()), None)
        results = []
        for index, (slot, (shape, name)) in enumerate(zip(self.outputs, self.forms)):
            array = out.get(index)
            if array is None:
                array = _arrays.empty_like_kind(example, shape, name)
            status = slot.set(array, False)
            if status:
                check(status)
            results.append(array)
        status = self._start()
        if status:
            check(status)
        return tuple(results)

    def _start(self) -> int:
        """In the arrays' own queue where all lie on the device and have one, else to the end."""
        on_device = [slot.on_device for slot in self.slots]
        if True not in on_device:
            return int(lib.tf_run_execute(self.handle))
        arrays = [slot.keeps for slot in self.slots]
        queues = _arrays.queues_of(arrays) if all(on_device) else [None]
        if None in queues:
            _arrays.finish(arrays)
            return int(lib.tf_run_execute(self.handle))
        first, *others = queues
        if others:
            _arrays.order(others, [first])
        status = int(lib.tf_run_enqueue(self.handle, _arrays.queue_number(first), None))
        if others:
            _arrays.order([first], others)
        return status

    def __del__(self) -> None:
        if getattr(self, "handle", 0):
            lib.tf_release(self.handle)


class Model:
    """A model compiled for a device; load() makes one. Any thread may use it: each has a run of its own."""

    def __init__(self, source: int, device: Device, options: Dict[str, str], owner: Any = None,
                 progress: Optional[Callable[[int, int], Any]] = None) -> None:
        self._source, self._device, self._options, self._owner = source, device, options, owner
        handle, watched = c_void_p(), Watched(progress)
        watched.check(lib.tf_compile(source, device._handle, option_list(options), len(options), watched.callback, None,
                                     byref(handle)))
        self._handle = handle.value or 0
        self._inputs = _described(lib.tf_compiled_inputs, self._handle)
        self._outputs = _described(lib.tf_compiled_outputs, self._handle)
        self._positions = {tensor.name: i for i, tensor in enumerate(self._inputs)}
        self._local = threading.local()

    @property
    def inputs(self) -> Tuple[Tensor, ...]:
        """What run() takes."""
        return self._inputs

    @property
    def outputs(self) -> Tuple[Tensor, ...]:
        """What run() gives, as far as it is known before shapes are."""
        return self._outputs

    @property
    def device(self) -> Device:
        """What it is compiled for."""
        return self._device

    def __call__(self, *arrays: Any) -> Tuple[Any, ...]:
        """Runs on arrays in the order of `inputs`; the outputs in their order, of the kind of the first array."""
        if len(arrays) != len(self._inputs):
            raise Error("shape", f"got {len(arrays)} inputs, the model takes {len(self._inputs)}")
        run = self._run()
        run.bind(arrays)
        return run.execute(arrays, {})

    def run(self, inputs: Mapping[str, Any], out: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        """Runs on arrays by name; the outputs by name. `out` holds arrays that outputs are written into."""
        for name in inputs:
            if name not in self._positions:
                raise Error("shape", f"the model has no input '{name}'; it has {', '.join(self._positions)}")
        for name in self._positions:
            if name not in inputs:
                raise Error("shape", f"input '{name}' is missing")
        run = self._run()
        arrays = [inputs[tensor.name] for tensor in self._inputs]
        run.bind(arrays)
        names = self._output_names(len(run.forms))
        for name in out or {}:
            if name not in names:
                raise Error("shape", f"the model has no output '{name}'; it has {', '.join(names)}")
        places = {names.index(name): array for name, array in (out or {}).items()}
        return dict(zip(names, run.execute(arrays, places)))

    @property
    def copies(self) -> int:
        """How often this thread's last run copied an array to or from the device."""
        copies = ctypes.c_int64()
        check(lib.tf_run_statistics(self._run().handle, None, byref(copies), None))
        return copies.value

    @property
    def info(self) -> Dict[str, Any]:
        """Kernels, bytes, seconds of compiling, at the shapes of this thread's last run."""
        told: Dict[str, Any] = json.loads(taken(lambda to: lib.tf_info(self._run().handle, to)))
        return told

    def bench(self, repeat: int = 50, progress: Optional[Callable[[int, int], Any]] = None) -> Timing:
        """Times runs on random input."""
        watched = Watched(progress)
        told = json.loads(watched.taken(lambda to: lib.tf_time(self._run().handle, repeat, watched.callback, None, to)))
        return Timing(**told["seconds"], runs=told["runs"], kernels=told["kernels"])

    def profile(self, path: Union[str, os.PathLike[str], None] = None) -> List[Dict[str, Any]]:
        """The kernels of one run by the device's clock; `path` gets them as a Chrome trace."""
        kernels = self.bench(9).kernels
        if path is not None:
            events = [{"name": kernel["origin"] or kernel["name"], "cat": "kernel", "ph": "X", "pid": 1, "tid": 1,
                       "ts": kernel["begin"] * 1e6, "dur": kernel["seconds"] * 1e6, "args": kernel} for kernel in kernels]
            pathlib.Path(path).write_text(json.dumps({"traceEvents": events}))
        return kernels

    def explain(self, layer: Union[int, str]) -> str:
        """Why the kernel with that number, or of that node, is what it is."""
        return taken(lambda to: lib.tf_explain(self._run().handle, str(layer).encode(), to))

    def verify(self, samples: int = 256, progress: Optional[Callable[[int, int], Any]] = None) -> str:
        """Compares every kernel with the reference on random input. An Error names the first that is wrong."""
        watched = Watched(progress)
        return watched.taken(lambda to: lib.tf_verify(self._run().handle, samples, watched.callback, None, to))

    def tune(self, budget: Union[str, float] = "60s", progress: Optional[Callable[[int, int], Any]] = None) -> str:
        """Measures schedules for that long ("90s", "5m", or seconds) and records the best, which later runs take."""
        watched = Watched(progress)
        seconds = _seconds(budget)
        told = watched.taken(lambda to: lib.tf_tune(self._run().handle, seconds, watched.callback, None, to))
        self._local = threading.local()
        return told

    def gradient(self, by: str = "*") -> "Model":
        """The model of its gradients: by "*" every floating input, "weights", or names joined by commas. Its inputs are the
        model's and what its outputs' gradients are multiplied with; every size must be known."""
        return Model(self._source, self._device, {**self._options, "gradient": by}, self._owner)

    def _run(self) -> _Run:
        run: Optional[_Run] = getattr(self._local, "run", None)
        if run is None:
            run = self._local.run = _Run(self._handle, len(self._inputs))
        return run

    def _output_names(self, count: int) -> List[str]:
        names = [tensor.name for tensor in self._outputs]
        return names if len(names) == count else [f"output_{i}" for i in range(count)]

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.tf_release(self._handle)


class Source:
    """A model that was read; models compiled of it share it."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __del__(self) -> None:
        lib.tf_release(self.handle)


def read(model: Any, example: Any = None) -> Source:
    """A path, the bytes of an ONNX file, an onnx.ModelProto, or a torch.nn.Module with an example of its inputs."""
    handle = c_void_p()
    if isinstance(model, (str, os.PathLike)):
        check(lib.tf_model_read(os.fsencode(model), byref(handle)))
        return Source(handle.value or 0)
    data = _bytes_of(model, example)
    check(lib.tf_model_parse(data, len(data), None, byref(handle)))
    return Source(handle.value or 0)


def _bytes_of(model: Any, example: Any) -> bytes:
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString())
    if _arrays.is_torch(model) or hasattr(model, "named_parameters"):
        import torch  # type: ignore[import-not-found,unused-ignore]
        file = io.BytesIO()
        inputs = example if isinstance(example, tuple) else (example,)
        torch.onnx.export(model.eval(), inputs, file)
        return file.getvalue()
    raise Error("type", f"got {type(model).__name__}, need a path, bytes, an onnx.ModelProto or a torch.nn.Module")


def load(model: Any, device: Union[str, Device] = "", *, example: Any = None, batch: Optional[int] = None,
         dims: Optional[Mapping[str, int]] = None, shapes: Optional[Sizes] = None, values: Optional[Sizes] = None,
         precision: str = "", fuse: str = "", calibrate: Sequence[Any] = (), gradient: str = "", threads: int = 0,
         options: Optional[Mapping[str, str]] = None, progress: Optional[Callable[[int, int], Any]] = None) -> Model:
    """Reads and compiles a model.

    model:     a path, the bytes of an ONNX file, an onnx.ModelProto, or a torch.nn.Module with an `example` of its input
    device:    a Device, or what selects one: "cpu", "cuda:0", "opencl"
    batch:     size of open first dimensions
    dims:      sizes of dimensions by name, {"height": 320}
    shapes:    sizes of inputs, {"images": (1, 3, 320, 320)}; what is left open is compiled when a run first has it
    values:    of integer inputs that only sizes are computed of
    precision: "f16", "bf16", "tf32" or "int8", which takes its scales from `calibrate`: runs' inputs, each an array or a
               sequence of them
    options:   others by name (tilefuse.options() lists them)
    progress:  called with kernels compiled and all; what it raises, and False, ends the work
    """
    source = read(model, example)
    for inputs in calibrate:
        tensors = _arrays.host_tensors(inputs if isinstance(inputs, (list, tuple)) else [inputs])
        check(lib.tf_model_calibrate(source.handle, tensors, len(tensors)))
    wanted: Dict[str, str] = {key: value for key, value in (("precision", precision), ("fuse", fuse), ("gradient", gradient))
                              if value}
    if batch is not None:
        wanted["batch"] = str(batch)
    wanted.update({f"dim.{name}": str(size) for name, size in (dims or {}).items()})
    wanted.update({f"shape.{name}": joined(sizes) for name, sizes in (shapes or {}).items()})
    wanted.update({f"value.{name}": joined(numbers) for name, numbers in (values or {}).items()})
    wanted.update(options or {})
    on = device if isinstance(device, Device) else Device(device, threads=threads)
    return Model(source.handle, on, wanted, source, progress)


def joined(sizes: Union[int, Sequence[int]]) -> str:
    """"1,3,320,320"."""
    return str(sizes) if isinstance(sizes, int) else ",".join(str(int(size)) for size in sizes)


def _described(call: Any, handle: int) -> Tuple[Tensor, ...]:
    infos, count = ctypes.POINTER(TensorInfo)(), c_size_t()
    check(call(handle, byref(infos), byref(count)))
    return tuple(_tensor(infos[i]) for i in range(count.value))


def _tensor(info: TensorInfo) -> Tensor:
    shape = None
    if info.rank >= 0:
        shape = tuple(info.shape[d] if info.shape[d] >= 0 else info.symbols[d].decode() or None for d in range(info.rank))
    return Tensor(info.name.decode(errors="replace"), _arrays.type_name(info.type), shape)


def _seconds(budget: Union[str, float]) -> float:
    if not isinstance(budget, str):
        return float(budget)
    units = {"s": 1, "m": 60, "h": 3600}
    return float(budget[:-1]) * units[budget[-1]] if budget[-1:] in units else float(budget)
