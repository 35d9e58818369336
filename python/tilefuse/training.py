# SPDX-License-Identifier: Apache-2.0
"""Training: whole runs by a recipe, and trainers that step when they are told to."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._library import Error, Watched, check, lib, option_list, taken
from .device import Device
from .model import Timing

Recipe = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Pictures = Union[str, Tuple[Any, Any]]
Progress = Optional[Callable[[int, int], Any]]


@dataclass(frozen=True)
class Step:
    """Of the steps of one call: how many were made, their mean loss, the share of their pictures that was right before each
    update, seconds, and seconds of these that pictures were waited for; how many were skipped since gradients were not
    finite. The others are the last one's: its number, that of the run's last, epoch from 1, learning rate, norm of all
    gradients, and what the loss was scaled by."""
    step: int
    steps: int
    epoch: int
    made: int
    loss: float
    top1: float
    rate: float
    gradient_norm: float
    scale: float
    skipped: int
    seconds: float
    waited: float


@dataclass(frozen=True)
class Evaluation:
    """Of test data: how many pictures there are, how many were right, that share, and the mean loss."""
    count: int
    hits: int
    top1: float
    loss: float


@dataclass(frozen=True)
class RunResult:
    """Of a run: its steps, whether those are all, the epoch that was best, and how the model did on test data before it, at
    its end, and at best; None without test data."""
    step: int
    complete: bool
    best_epoch: int
    before: Optional[Evaluation]
    last: Optional[Evaluation]
    best: Optional[Evaluation]


class Trainer:
    """A model that learns, step by step.

    recipe:   a file of TOML, a model's path (.onnx), or the keys of a recipe: {"model": …, "optimizer.rate": 0.01}. Without
              data.train all that can be done is evaluate().
    device:   a Device, or what selects one
    data:     in place of the recipe's data.train: "cifar:FILE", …, or pictures uint8 [N, H, W, C] with labels [N]
    test:     the same for data.test
    settings: keys of a recipe that go before it, {"steps.batch": 128}
    progress: called with kernels compiled and all; what it raises, and False, ends the work
    """

    def __init__(self, recipe: Recipe, device: Union[str, Device] = "", *, data: Optional[Pictures] = None,
                 test: Optional[Pictures] = None, settings: Optional[Mapping[str, Any]] = None, threads: int = 0,
                 progress: Progress = None) -> None:
        self._device = device if isinstance(device, Device) else Device(device, threads=threads)
        self._files = contextlib.ExitStack()
        handle, watched = c_void_p(), Watched(progress)
        file, options = _settled(recipe, settings, {"data.train": data, "data.test": test}, self._files)
        watched.check(lib.tf_trainer_create(self._device._handle, file, option_list(options), len(options), watched.callback,
                                            None, byref(handle)))
        self._handle = handle.value or 0

    def step(self, steps: int = 1, progress: Progress = None) -> Step:
        """Makes so many steps, fewer where the run ends. An Error says that all are made."""
        return Step(**self._told(lib.tf_trainer_step, progress, steps))

    def evaluate(self, progress: Progress = None) -> Evaluation:
        """Loss and hits on the test data."""
        return Evaluation(**self._told(lib.tf_trainer_evaluate, progress))

    def checkpoint(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes all that the steps to come depend on, as NAME.safetensors."""
        self._save(path, ".safetensors")

    def restore(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Goes on from a checkpoint; nothing changes where it is of another model or optimiser."""
        check(lib.tf_trainer_restore(self._handle, os.fsencode(path)))

    def export(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model that was read with what it has learned, as NAME.onnx."""
        self._save(path, ".onnx")

    @property
    def info(self) -> Dict[str, Any]:
        """Steps that were made and all, bytes of device memory, and a text for people."""
        told: Dict[str, Any] = json.loads(taken(lambda to: lib.tf_info(self._handle, to)))
        return told

    def bench(self, repeat: int = 10, progress: Progress = None) -> Timing:
        """Times steps, of which nothing is kept."""
        told = self._told(lib.tf_time, progress, repeat)
        return Timing(**told["seconds"], runs=told["runs"], kernels=told["kernels"])

    def verify(self, samples: int = 256, progress: Progress = None) -> str:
        """Compares every kernel of a step with the reference. An Error names the first that is wrong."""
        watched = Watched(progress)
        return watched.taken(lambda to: lib.tf_verify(self._handle, samples, watched.callback, None, to))

    def _told(self, call: Any, progress: Progress, *arguments: Any) -> Dict[str, Any]:
        watched = Watched(progress)
        told: Dict[str, Any] = json.loads(
            watched.taken(lambda to: call(self._handle, *arguments, watched.callback, None, to)))
        return told

    def _save(self, path: Union[str, "os.PathLike[str]"], suffix: str) -> None:
        if pathlib.PurePath(path).suffix != suffix:
            raise Error("argument", f"{os.fspath(path)!r} does not end in {suffix}")
        check(lib.tf_trainer_save(self._handle, os.fsencode(path)))

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            lib.tf_release(self._handle)
        if hasattr(self, "_files"):
            self._files.close()


def train(recipe: Recipe, folder: Union[str, "os.PathLike[str]"], device: Union[str, Device] = "", *,
          data: Optional[Pictures] = None, test: Optional[Pictures] = None, resume: bool = False, force: bool = False,
          settings: Optional[Mapping[str, Any]] = None, threads: int = 0, progress: Progress = None) -> RunResult:
    """Makes a whole run in `folder`, which gets its log, checkpoints, last.onnx and best.onnx. Its lines go to the logger
    "tilefuse". `resume` goes on with the folder's run, with `force` although the recipe differs. `progress` is called with
    kernels compiled, then with steps made, and all; when it ends the run, a checkpoint is kept. The others are as Trainer's.
    """
    on = device if isinstance(device, Device) else Device(device, threads=threads)
    with contextlib.ExitStack() as files:
        file, options = _settled(recipe, settings, {"data.train": data, "data.test": test}, files)
        options.update(folder=os.fspath(folder), resume=_text(resume), force=_text(force))
        watched = Watched(progress)
        told = json.loads(watched.taken(lambda to: lib.tf_train(on._handle, file, option_list(options), len(options),
                                                                watched.callback, None, to)))
    for name in ("before", "last", "best"):
        told[name] = Evaluation(**told[name]) if told[name] else None
    return RunResult(**told)


def _settled(recipe: Recipe, settings: Optional[Mapping[str, Any]], pictures: Mapping[str, Optional[Pictures]],
             files: contextlib.ExitStack) -> Tuple[Optional[bytes], Dict[str, str]]:
    """The recipe's file or None, and options; arrays lie in files that live as long as `files`."""
    options: Dict[str, str] = {}
    file = None
    if isinstance(recipe, Mapping):
        options.update(_flat(recipe))
    else:
        file = os.fsencode(recipe)
    options.update(_flat(settings or {}))
    for key, given in pictures.items():
        if given is not None:
            options[key] = given if isinstance(given, str) else _kept(given, files)
    return file, options


def _kept(pictures: Tuple[Any, Any], files: contextlib.ExitStack) -> str:
    """"npy:IMAGES,LABELS" of arrays."""
    folder = pathlib.Path(files.enter_context(tempfile.TemporaryDirectory(prefix="tilefuse-")))
    images, labels = (np.asarray(array) for array in pictures)
    np.save(folder / "images.npy", images)
    np.save(folder / "labels.npy", labels)
    return f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"


def _flat(keys: Mapping[str, Any], section: str = "") -> Iterator[Tuple[str, str]]:
    """Keys with their sections, {"optimizer": {"rate": 0.1}} as optimizer.rate."""
    for key, value in keys.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{section}{key}.")
        else:
            yield section + key, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(_text(each) for each in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
