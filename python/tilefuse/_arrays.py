# SPDX-License-Identifier: Apache-2.0
"""Arrays as tensors of the library: NumPy's, torch's on CUDA and pyopencl's by where they lie, all others by DLPack. Nothing
is copied unless elements lie with gaps or unaligned. Arrays of a device are worked with in its own queue: that of pyopencl's
first array, which is ordered with those of the others, torch's current stream."""
from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, byref, c_int64, c_void_p
from typing import Any, List, Optional, Sequence

import numpy as np

from ._library import DLDataType, DLTensor, Error, lib

_LEGACY_STREAM = 1  # CUDA's default stream, which torch calls 0
_CUDA_ALIGNMENT = 256  # bytes, that kernels of CUDA devices count on
_CPU, _CUDA, _OPENCL = 1, 2, 4  # DLPack's
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_NAMES = {(2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (0, 8): "int8", (0, 16): "int16", (0, 32): "int32",
          (0, 64): "int64", (1, 8): "uint8", (1, 16): "uint16", (1, 32): "uint32", (1, 64): "uint64", (6, 8): "bool", (4, 16): "bfloat16"}

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, (ctypes.py_object, ctypes.c_char_p)


def type_name(dtype: DLDataType) -> str:
    """"float32"; "" for what may be of any type."""
    return _NAMES.get((dtype.code, dtype.bits), "")


def _dl_type(dtype: Any) -> DLDataType:
    """Of NumPy's type, or of torch's."""
    if not hasattr(dtype, "kind"):
        return _dl_type_of_name(str(dtype).rpartition(".")[2])
    if dtype.name == "bfloat16":
        return DLDataType(4, 16, 1)
    if dtype.kind not in _CODES or not dtype.isnative:
        raise Error("type", f"elements of NumPy's type {dtype} are not known")
    return DLDataType(_CODES[dtype.kind], 8 * dtype.itemsize, 1)


def _dl_type_of_name(name: str) -> DLDataType:
    for (code, bits), known in _NAMES.items():
        if known == name:
            return DLDataType(code, bits, 1)
    raise Error("type", f"elements of type {name} are not known")


def numpy_type(name: str) -> Any:
    """The dtype of that name; bfloat16 needs the package ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes  # type: ignore[import-not-found]
    return np.dtype(ml_dtypes.bfloat16)


def is_torch(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def is_opencl(array: Any) -> bool:
    return type(array).__module__.startswith("pyopencl.")


def queue_number(queue: Any) -> Optional[int]:
    """A queue or stream as C has it. torch's default stream is 0 there, which is CUDA's legacy stream, 1."""
    for name in ("int_ptr", "cuda_stream"):
        if hasattr(queue, name):
            return int(getattr(queue, name)) or _LEGACY_STREAM
    return None if queue is None else int(queue)


def queues_of(arrays: Sequence[Any]) -> List[Any]:
    """The queues that work with these arrays of a device belongs into, each once: None for one of pyopencl's without."""
    if not is_opencl(arrays[0]):
        return [sys.modules["torch"].cuda.current_stream(arrays[0].device)]
    queues: List[Any] = []
    for array in arrays:
        if array.queue not in queues:
            queues.append(array.queue)
    return queues


def order(before: Sequence[Any], after: Sequence[Any]) -> None:
    """What comes into the queues of OpenCL `after` begins behind what is in those `before`; nothing waits here."""
    cl = sys.modules["pyopencl"]
    marks = [cl.enqueue_marker(queue) for queue in before]
    for queue in before:
        queue.flush()
    for queue in after:
        cl.enqueue_barrier(queue, wait_for=marks)


def finish(arrays: Sequence[Any]) -> None:
    """Waits for what was queued before with the arrays of a device among these."""
    for array in arrays:
        if is_opencl(array):
            (array.queue or array).finish()
        elif is_torch(array) and array.is_cuda:
            sys.modules["torch"].cuda.current_stream(array.device).synchronize()


def empty_like_kind(example: Any, shape: Sequence[int], name: str) -> Any:
    """A new array of the kind and on the device of `example`."""
    if is_opencl(example):
        return sys.modules["pyopencl.array"].empty(example.queue or example.context, tuple(shape), numpy_type(name))
    if not is_torch(example):
        return np.empty(shape, numpy_type(name))
    torch = sys.modules["torch"]
    return torch.empty(tuple(shape), dtype=getattr(torch, name), device=example.device)


class Slot:
    """One input or output of a run: the tensor that it is bound to, and the array whose memory that is."""

    def __init__(self, run: int, index: int, bind: Any) -> None:
        self.run, self.index, self.bind = run, index, bind
        self.tensor = DLTensor()
        self.device = (0, 0)
        self.pointer = byref(self.tensor)
        self.shape: Optional[tuple[int, ...]] = None  # of a NumPy array, as is its dtype
        self.dtype: Any = None
        self.form: Any = None  # shape and type of whatever it is; None: not known
        self.keeps: Any = None
        self.on_device = False  # memory of a device, not of the host

    def set(self, array: Any, may_copy: bool = True) -> int:
        """Binds an array; the status. Only an input may be copied where its elements have gaps."""
        if isinstance(array, np.ndarray):
            return self._set_numpy(array, may_copy)
        if is_opencl(array):
            return self._set_opencl(array)
        if is_torch(array) and array.is_cuda:
            return self._set_cuda(array.detach(), may_copy)
        if hasattr(array, "__dlpack__"):
            return self._set_dlpack(array, may_copy)
        if may_copy:
            return self._set_numpy(np.asarray(array), True)
        raise Error("type", f"{type(array).__name__} is no array")

    def _set_numpy(self, array: Any, may_copy: bool) -> int:
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned) or not (may_copy or flags.writeable):
            if not may_copy:
                raise Error("shape", "an output must be writable, aligned and without gaps")
            array = np.require(array, requirements=("C", "A"))
        return self._bind(array, array.__array_interface__["data"][0])

    def _set_opencl(self, array: Any) -> int:
        if not array.flags.c_contiguous:
            raise Error("shape", "an array of OpenCL must be without gaps")
        return self._bind(array, array.base_data.int_ptr, (_OPENCL, 0), array.offset)

    def _set_cuda(self, array: Any, may_copy: bool) -> int:
        if may_copy:
            array = array.contiguous()
            if array.data_ptr() % _CUDA_ALIGNMENT:
                array = array.clone()
        if not array.is_contiguous():
            raise Error("shape", "an output must be without gaps")
        return self._bind(array, array.data_ptr(), (_CUDA, array.device.index))

    def _bind(self, array: Any, data: int, device: tuple[int, int] = (_CPU, 0), offset: int = 0) -> int:
        """Elements in row-major order at an address or in a buffer of a device."""
        self.on_device = device[0] != _CPU
        if device != self.device:
            self.device, self.shape = device, None
            self.tensor.device.device_type, self.tensor.device.device_id = device
        dtype = array.dtype
        if array.shape != self.shape or dtype != self.dtype:
            self.tensor.dtype = _dl_type(dtype)
            self.shape, self.dtype = array.shape, dtype
            self.form = (tuple(array.shape), str(dtype))
            self.tensor.ndim = len(array.shape)
            self.tensor.shape = (c_int64 * max(len(array.shape), 1))(*array.shape)
        self.tensor.data, self.tensor.byte_offset = data, offset
        self.keeps = array
        return int(self.bind(self.run, self.index, self.pointer))

    def _set_dlpack(self, array: Any, may_copy: bool) -> int:
        self.shape, self.form, self.on_device = None, None, False
        if is_torch(array):
            array = array.detach()
            self.form = (tuple(array.shape), str(array.dtype))
            if may_copy:
                array = array.contiguous()
        capsule = array.__dlpack__()
        self.keeps = (array, capsule)
        return int(self.bind(self.run, self.index, _capsule_pointer(capsule, b"dltensor")))


def bind_input(run: int, index: int) -> Slot:
    return Slot(run, index, lib.tf_run_input)


def bind_output(run: int, index: int) -> Slot:
    return Slot(run, index, lib.tf_run_bind_output)


def host_tensors(arrays: Sequence[Any]) -> Any:
    """An array of DLTensors of the host, which holds its arrays."""
    tensors: Any = (DLTensor * len(arrays))()
    kept = [np.require(array, requirements=("C", "A")) for array in arrays]
    for tensor, array in zip(tensors, kept):
        tensor.device.device_type = 1
        tensor.dtype = _dl_type(array.dtype)
        tensor.ndim = array.ndim
        tensor.shape = (c_int64 * max(array.ndim, 1))(*array.shape)
        tensor.data = array.__array_interface__["data"][0]
    tensors.kept = kept
    return tensors


def shape_of(pointer: "POINTER(c_int64)", rank: int) -> tuple[int, ...]:  # type: ignore[valid-type]
    return tuple(pointer[i] for i in range(rank))
