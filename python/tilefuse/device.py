# SPDX-License-Identifier: Apache-2.0
"""Devices: what there is, and one that models are compiled for."""
from __future__ import annotations

import ctypes
import json
import logging
import warnings
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from ._arrays import queue_number
from ._library import Hooks, Log, check, lib, option_list, taken

logger = logging.getLogger("tilefuse")


@dataclass(frozen=True)
class FoundDevice:
    """A device of this machine: how it is selected, its name, and what it lacks where it cannot be used."""
    device: str
    name: str
    state: str
    usable: bool


def devices() -> List[FoundDevice]:
    """All devices that were found, those rejected too, with the reason."""
    return [FoundDevice(**row) for row in json.loads(taken(lib.tf_devices))]


def options() -> List[Dict[str, str]]:
    """The options there are: name, whether it is one of a device or of compiling, and a sentence."""
    rows: List[Dict[str, str]] = json.loads(taken(lib.tf_options))
    return rows


def _told(_user: Any, level: int, text: bytes) -> None:
    line = text.decode(errors="replace")
    if level:
        warnings.warn(line, RuntimeWarning, stacklevel=2)
    else:
        logger.info(line)


_log = Log(_told)


class Device:
    """A device with its kernel cache and tuning records. Models on one device wait for each other; threads that are to
    compute at the same time on the CPU have a Device("cpu", threads=1) each.

    selector: "cpu", "cpu:avx2", "cuda", "cuda:1", "opencl", "opencl:0:0"; "": the CPU where code can be generated for it.
    threads:  of the CPU; 0: one per core.
    cache:    file of compiled kernels; False: none; None: the user's own.
    records:  the same of tuning records.
    queue:    a queue or stream of yours that it works in: a pyopencl.CommandQueue, a torch.cuda.Stream, or a number as C has it.
    """

    def __init__(self, selector: str = "", *, threads: int = 0, cache: Any = None, records: Any = None,
                 queue: Any = None) -> None:
        wanted = {"threads": str(threads)}
        for key, value in (("cache", cache), ("records", records)):
            if value is not None:
                wanted[key] = "" if value is False else str(value)
        handle, hooks = ctypes.c_void_p(), Hooks(ctypes.sizeof(Hooks), log=_log, queue=queue_number(queue))
        self._queue = queue
        check(lib.tf_device_open(selector.encode(), option_list(wanted), len(wanted), ctypes.byref(hooks), ctypes.byref(handle)))
        self._handle: Optional[int] = handle.value

    @property
    def info(self) -> Dict[str, Any]:
        """Name, driver, target and alignment."""
        told: Dict[str, Any] = json.loads(taken(lambda to: lib.tf_info(self._handle, to)))
        return told

    def __repr__(self) -> str:
        return f"<tilefuse.Device {self.info['device']}: {self.info['name']}>"

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            lib.tf_release(self._handle)
