# SPDX-License-Identifier: Apache-2.0
"""The C interface, tilefuse.h, as ctypes sees it."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16
from ctypes import c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, Optional

STATUS = ("ok", "syntax", "type", "shape", "unsupported", "limit", "device", "io", "cancelled", "argument", "internal")


class Error(Exception):
    """What the library refuses, in one sentence: `code` is one of "syntax", "type", "shape", "unsupported", "limit",
    "device", "io", "cancelled", "argument" and "internal"; `where` the place or node that it is about; each of `notes` says
    what would make it work."""

    def __init__(self, code: str, message: str, where: str = "", notes: tuple[str, ...] = ()) -> None:
        super().__init__((where + ": " if where else "") + message + "".join("\nnote: " + note for note in notes))
        self.code, self.message, self.where, self.notes = code, message, where, notes


class DLDevice(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Option(Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class TensorInfo(Structure):
    _fields_ = [("name", c_char_p), ("type", DLDataType), ("rank", c_int32), ("shape", POINTER(c_int64)),
                ("symbols", POINTER(c_char_p))]


Log = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
Progress = CFUNCTYPE(c_int, c_void_p, c_int, c_int)

class Hooks(Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("log", Log), ("allocate", c_void_p), ("release", c_void_p),
                ("queue", c_void_p)]


_HANDLE, _TEXT = c_void_p, POINTER(c_char_p)
_INFOS = (POINTER(POINTER(TensorInfo)), POINTER(c_size_t))
_SIGNATURES: Dict[str, tuple[Any, ...]] = {
    "tf_options": (_TEXT,),
    "tf_devices": (_TEXT,),
    "tf_device_open": (c_char_p, POINTER(Option), c_size_t, POINTER(Hooks), POINTER(_HANDLE)),
    "tf_model_read": (c_char_p, POINTER(_HANDLE)),
    "tf_model_parse": (c_char_p, c_size_t, c_char_p, POINTER(_HANDLE)),
    "tf_model_from_tile": (c_char_p, c_char_p, POINTER(_HANDLE)),
    "tf_model_inputs": (_HANDLE, *_INFOS),
    "tf_model_check": (_HANDLE, POINTER(Option), c_size_t, _TEXT),
    "tf_model_calibrate": (_HANDLE, POINTER(DLTensor), c_size_t),
    "tf_compile": (_HANDLE, _HANDLE, POINTER(Option), c_size_t, Progress, c_void_p, POINTER(_HANDLE)),
    "tf_compiled_inputs": (_HANDLE, *_INFOS),
    "tf_compiled_outputs": (_HANDLE, *_INFOS),
    "tf_run_create": (_HANDLE, POINTER(_HANDLE)),
    "tf_run_input": (_HANDLE, c_size_t, c_void_p),
    "tf_run_bind_output": (_HANDLE, c_size_t, c_void_p),
    "tf_run_prepare": (_HANDLE, Progress, c_void_p, POINTER(c_size_t)),
    "tf_run_execute": (_HANDLE,),
    "tf_run_enqueue": (_HANDLE, c_void_p, POINTER(c_void_p)),
    "tf_run_output": (_HANDLE, c_size_t, POINTER(DLTensor)),
    "tf_run_statistics": (_HANDLE, POINTER(c_double), POINTER(c_int64), POINTER(c_int64)),
    "tf_trainer_create": (_HANDLE, c_char_p, POINTER(Option), c_size_t, Progress, c_void_p, POINTER(_HANDLE)),
    "tf_trainer_step": (_HANDLE, c_int64, Progress, c_void_p, _TEXT),
    "tf_trainer_evaluate": (_HANDLE, Progress, c_void_p, _TEXT),
    "tf_trainer_save": (_HANDLE, c_char_p),
    "tf_trainer_restore": (_HANDLE, c_char_p),
    "tf_train": (_HANDLE, c_char_p, POINTER(Option), c_size_t, Progress, c_void_p, _TEXT),
    "tf_info": (_HANDLE, _TEXT),
    "tf_time": (_HANDLE, c_int, Progress, c_void_p, _TEXT),
    "tf_explain": (_HANDLE, c_char_p, _TEXT),
    "tf_verify": (_HANDLE, c_int64, Progress, c_void_p, _TEXT),
    "tf_tune": (_HANDLE, c_double, Progress, c_void_p, _TEXT),
}


def library_path() -> str:
    """The file of libtilefuse.so: $TILEFUSE_LIBRARY, else that of this package, else the system's."""
    own = pathlib.Path(__file__).with_name("libtilefuse.so")
    return os.environ.get("TILEFUSE_LIBRARY") or (str(own) if own.exists() else "libtilefuse.so.0")


def loaded_file() -> str:
    """The file that library_path() led to."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if pathlib.Path(path).name.startswith("libtilefuse.so"):
            return path
    return library_path()


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(library_path())
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    library.tf_release.argtypes, library.tf_release.restype = (_HANDLE,), None
    library.tf_free.argtypes, library.tf_free.restype = (c_void_p,), None
    library.tf_version.restype = c_uint32
    for name in ("tf_error_message", "tf_error_where", "tf_error_notes"):
        getattr(library, name).restype = c_char_p
    return library


lib = _load()


def version() -> str:
    """Of the library that is loaded."""
    number = lib.tf_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _text(data: Optional[bytes]) -> str:
    return (data or b"").decode(errors="replace")


def check(status: int) -> None:
    """Raises the Error of a status that is none of success."""
    if status:
        notes = _text(lib.tf_error_notes())
        raise Error(STATUS[status], _text(lib.tf_error_message()), _text(lib.tf_error_where()),
                    tuple(notes.split("\n")) if notes else ())


def taken(call: Callable[[Any], int]) -> str:
    """The text that a call gives through its last argument."""
    text = c_char_p()
    check(call(byref(text)))
    try:
        return _text(text.value)
    finally:
        lib.tf_free(ctypes.cast(text, c_void_p))


def option_list(options: Dict[str, str]) -> Any:
    """An array of tf_option; it holds its texts."""
    return (Option * len(options))(*(Option(key.encode(), value.encode()) for key, value in options.items()))


class Watched:
    """A progress callback for one call. What it raises, an interrupt by the user too, cancels the work and is raised
    again when the call returns."""

    def __init__(self, progress: Optional[Callable[[int, int], Any]] = None) -> None:
        self.failure: Optional[BaseException] = None

        def told(_user: Any, done: int, total: int) -> int:
            try:
                return 1 if progress is not None and progress(done, total) is False else 0
            except BaseException as failure:  # ctypes would print it and go on
                self.failure = failure
                return 1

        self.callback = Progress(told)

    def check(self, status: int) -> None:
        if self.failure is not None:
            raise self.failure
        check(status)

    def taken(self, call: Callable[[Any], int]) -> str:
        try:
            return taken(call)
        except Error:
            if self.failure is not None:
                raise self.failure from None
            raise
