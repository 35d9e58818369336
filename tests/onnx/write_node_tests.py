#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operator tests of the installed Python package onnx, whose release may be newer than the stored ones:

    write_node_tests.py FOLDER
    TILEFUSE_NODE_TESTS=FOLDER VERBOSE=1 build/bin/test_onnx_conformance

Tests with sequences, optionals or strings among their tensors are left out.
"""
import pathlib
import sys

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def message(value, name):
    """The TensorProto of an array; None for what is no tensor of numbers."""
    if isinstance(value, onnx.TensorProto):
        return value
    if not hasattr(value, "dtype") or value.dtype.kind in "OSU":
        return None
    return numpy_helper.from_array(value, name)


def write(case, folder):
    """The model and first data set of a test; False where one of its values is no tensor of numbers."""
    files = {}
    for kind, values, declared in zip(("input", "output"), case.data_sets[0], (case.model.graph.input, case.model.graph.output)):
        for position, (value, info) in enumerate(zip(values, declared)):
            files[f"{kind}_{position}.pb"] = message(value, info.name)
    if None in files.values():
        return False
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(case.model, folder / case.name / "model.onnx")
    for name, tensor in files.items():
        (data / name).write_bytes(tensor.SerializeToString())
    return True


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    cases = collect_testcases(None)
    written = sum(write(case, folder) for case in cases)
    print(f"{written} of {len(cases)} tests of onnx {onnx.__version__} are in {folder}")


if __name__ == "__main__":
    main()
