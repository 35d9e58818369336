# SPDX-License-Identifier: Apache-2.0
"""Functions written in the Tile language, called like any other."""
from __future__ import annotations

import sys
from ctypes import byref, c_void_p
from typing import Any, Dict, List, Tuple, Union

from . import _arrays
from ._library import check, lib
from .device import Device
from .model import Model, Source, joined

Number = Union[int, float]


class TileFunction:
    """A Tile function: takes arrays in the order of its parameters, and its attributes by name. It is compiled for each set
    of shapes, types and attributes when that is first used. torch tensors that need gradients get the derived ones."""

    def __init__(self, text: str, function: str = "", device: Union[str, Device] = "") -> None:
        handle = c_void_p()
        check(lib.tf_model_from_tile(text.encode(), function.encode() or None, byref(handle)))
        self._source = Source(handle.value or 0)
        self._device = device if isinstance(device, Device) else Device(device)
        self._models: Dict[Tuple[Tuple[str, Number], ...], Model] = {}
        self._gradients: Dict[Any, Model] = {}

    def __call__(self, *arrays: Any, **attributes: Number) -> Any:
        """The function's result; a tuple where it has several."""
        if any(_arrays.is_torch(array) and array.requires_grad for array in arrays):
            results = _differentiable(self, arrays, attributes)
        else:
            results = self.model(**attributes)(*arrays)
        return results[0] if len(results) == 1 else results

    def model(self, **attributes: Number) -> Model:
        """The function with these attributes, as a Model: to bench, explain, verify or tune it."""
        key = tuple(sorted(attributes.items()))
        if key not in self._models:
            self._models[key] = Model(self._source.handle, self._device, _options(attributes), self._source)
        return self._models[key]

    def gradient(self, arrays: List[Any], attributes: Dict[str, Number], by: Tuple[str, ...]) -> Model:
        """The model of its gradients for arrays like these, by inputs of these names."""
        inputs = self.model(**attributes).inputs
        forms = tuple((tuple(array.shape), _type_word(array)) for array in arrays)
        key = (forms, tuple(sorted(attributes.items())), by)
        if key not in self._gradients:
            wanted = {**_options(attributes), "gradient": ",".join(by)}
            for tensor, (shape, word) in zip(inputs, forms):
                wanted[f"shape.{tensor.name}"] = joined(shape)
                wanted[f"type.{tensor.name}"] = word
            self._gradients[key] = Model(self._source.handle, self._device, wanted, self._source)
        return self._gradients[key]


def tile(text: str, function: str = "", *, device: Union[str, Device] = "") -> TileFunction:
    """A function of a Tile text, the last where none is named:

        scale = tf.tile("function scale(X[N]; F) -> (Y) { Y = F * X; }")
        y = scale(x, F=3)
    """
    return TileFunction(text, function, device)


_WORDS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "uint8": "u8", "int32": "i32",
          "int64": "i64", "bool": "bool"}


def _type_word(array: Any) -> str:
    return _WORDS[str(array.dtype).rpartition(".")[2]]


def _options(attributes: Dict[str, Number]) -> Dict[str, str]:
    return {f"attr.{name}": repr(value) for name, value in attributes.items()}


def _differentiable(function: TileFunction, arrays: Tuple[Any, ...], attributes: Dict[str, Number]) -> Tuple[Any, ...]:
    """The results as torch's autograd sees them."""
    torch = sys.modules["torch"]

    class Derived(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(context: Any, *tensors: Any) -> Tuple[Any, ...]:
            context.save_for_backward(*tensors)
            return function.model(**attributes)(*tensors)

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Tuple[Any, ...]:
            tensors = list(context.saved_tensors)
            names = [tensor.name for tensor in function.model(**attributes).inputs]
            wanted = [i for i, needed in enumerate(context.needs_input_grad) if needed]
            model = function.gradient(tensors, attributes, tuple(names[i] for i in wanted))
            results = dict(zip(wanted, model(*tensors, *gradients)))
            return tuple(results.get(i) for i in range(len(tensors)))

    results: Tuple[Any, ...] = Derived.apply(*arrays)
    return results
