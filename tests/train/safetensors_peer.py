#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a file of tensors by the format's description alone and writes its contents again, in another order, under a
header of its own. Where Hugging Face's library is there, it reads the file as well.

    safetensors_peer.py FROM TO
"""
import json
import struct
import sys

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2, "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length).decode("utf-8"))
        data = file.read()
    assert (8 + length) % 8 == 0, "elements do not begin at a multiple of 8"
    metadata = header.pop("__metadata__")
    tensors, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        count = 1
        for dim in entry["shape"]:
            count *= dim
        assert first == end and last - first == count * SIZES[entry["dtype"]], name
        assert first % SIZES[entry["dtype"]] == 0, f"{name} is not aligned"
        end = last
        tensors[name] = (entry["dtype"], entry["shape"], data[first:last])
    assert end == len(data), "bytes that belong to no tensor"
    return metadata, tensors


def write(path, metadata, tensors):
    header, blob = {"__metadata__": metadata}, b""
    for name in sorted(tensors, reverse=True):
        dtype, shape, data = tensors[name]
        header[name] = {"shape": shape, "data_offsets": [len(blob), len(blob) + len(data)], "dtype": dtype}
        blob += data
    text = json.dumps(header, indent=1).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob)


def check_values(tensors):
    """Element i of the tests' tensors is 1 + i/4, rounded as its type rounds."""
    assert struct.unpack("<15f", tensors["f32"][2]) == tuple(1 + i / 4 for i in range(15))
    assert struct.unpack("<15d", tensors["f64"][2]) == tuple(1 + i / 4 for i in range(15))
    assert struct.unpack("<15e", tensors["f16"][2]) == tuple(1 + i / 4 for i in range(15))
    assert struct.unpack("<f", tensors['scalar "é"\n'][2]) == (-7.5,) and tensors['scalar "é"\n'][1] == []


def check_library(path, tensors):
    try:
        from safetensors import safe_open
    except ImportError:
        return
    with safe_open(path, framework="np") as file:
        assert set(file.keys()) == set(tensors)
        for name, (dtype, shape, data) in tensors.items():
            if dtype != "BF16":
                assert list(file.get_tensor(name).shape) == shape and file.get_tensor(name).tobytes() == data, name


def main(source, target):
    metadata, tensors = read(source)
    check_values(tensors)
    check_library(source, tensors)
    del metadata["tilefuse.xxh3"]
    write(target, metadata, tensors)


if __name__ == "__main__":
    main(*sys.argv[1:])
