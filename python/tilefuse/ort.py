# SPDX-License-Identifier: Apache-2.0
"""The execution provider for onnxruntime, which is a library of its own and needs onnxruntime 1.23 or later:

    onnxruntime.register_execution_provider_library("tilefuse", tilefuse.ort_library())
"""
import pathlib

from ._library import Error, loaded_file

ORT_PROVIDER = "TilefuseExecutionProvider"
_NAME = "libtilefuse_ort.so"


def ort_library() -> str:
    """The file to register, which lies beside libtilefuse.so or, where it is installed, in tilefuse/ there."""
    folder = pathlib.Path(loaded_file()).parent
    for path in (folder / _NAME, folder / "tilefuse" / _NAME):
        if path.exists():
            return str(path)
    raise Error("io", f"there is no {_NAME} in {folder}")
