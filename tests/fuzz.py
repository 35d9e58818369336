#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets with clang, under the address and undefined-behaviour sanitizers, and runs each for a while.

    fuzz.py --build FOLDER [--seconds N] [--seed N] [--corpus FOLDER] [TARGET…]

A target starts from fuzz/corpus/TARGET, those over Tile also from the operator library; `onnx` from the models of fuzz/corpus/onnx, which
are texts of protobuf, and from ONNX's node tests where ../shared/data has them; `data` from a small set of every kind. What a
target finds goes to FOLDER/found-TARGET and FOLDER/crash-*. With --corpus the inputs found before are kept there and
taken up again. Exits with 1 where an input crashes, hangs or makes a sanitizer speak, with 77 where there is no clang
(a failure in CI).
"""
import argparse
import gzip
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("TILEFUSE_DATA", ROOT.parent / "shared" / "data"))
TARGETS = ["bind", "format", "flatten", "onnx", "safetensors", "recipe", "data"]
LARGEST = 16384  # bytes of an input
SKIPPED = 77


def run(command, **options):
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors="replace", **options)


def build(folder, targets, compiler):
    """None, or what went wrong."""
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DTILEFUSE_FUZZ=ON", "-DCMAKE_BUILD_TYPE=Release",
                 "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1", f"-DCMAKE_CXX_COMPILER={compiler}"]
    for command in (configure, ["cmake", "--build", folder, "--target", *(f"fuzz_{name}" for name in targets)]):
        done = run(command)
        if done.returncode != 0:
            return done.stdout[-6000:]
    return None


def onnx_seeds(folder):
    """Models as files: ours, and those of ONNX's node tests."""
    seeds = folder / "seeds-onnx"
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir(parents=True)
    schema = next(path for path in ("/usr/include/onnx", "/usr/local/include/onnx") if os.path.exists(path))
    for text in sorted((ROOT / "fuzz" / "corpus" / "onnx").glob("*.txtpb")):
        done = subprocess.run(["protoc", "--encode=onnx.ModelProto", f"--proto_path={schema}", "onnx.proto"],
                              input=text.read_bytes(), stdout=subprocess.PIPE, check=True)
        (seeds / text.stem).write_bytes(done.stdout)
    for archive in sorted((DATA / "onnx_node_tests").glob("*.tar.xz")):
        with tarfile.open(archive) as files:
            for member in files:
                if member.name.endswith("/model.onnx") and member.size <= LARGEST:
                    name = pathlib.PurePath(member.name).parent.name
                    (seeds / name).write_bytes(files.extractfile(member).read())
    return [seeds]


def png(width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bytes(range(3 * width)) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def npy(kind, shape, content):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + content


def data_seeds(folder):
    """Data sets as fuzz/data.cpp reads them: the number of the kind, the length of the first file, the files."""
    seeds = folder / "seeds-data"
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir(parents=True)
    record = b"\3" + bytes(3072)
    pictures, labels = struct.pack(">4I", 0x803, 2, 2, 3) + bytes(12), struct.pack(">2I", 0x801, 2) + b"\1\2"
    whole = {"cifar": (0, record, record), "cifar-packed": (0, gzip.compress(record), gzip.compress(2 * record)),
             "mnist": (1, pictures, labels), "mnist-packed": (1, gzip.compress(pictures), gzip.compress(labels)),
             "npy": (2, npy("|u1", (2, 2, 2, 3), bytes(24)), npy("<i8", (2,), bytes(16))),
             "list": (3, b"first 1\nsub/b c.png 2\n", b""), "png": (4, png(9, 7), b"")}
    for path in sorted((ROOT / "fuzz" / "corpus" / "data").iterdir()):
        whole[path.name] = (4, path.read_bytes(), b"")
    for name, (kind, first, second) in whole.items():
        (seeds / name).write_bytes(struct.pack("<BH", kind, len(first)) + first + second)
    return [seeds]


def stored_seeds(name):
    if name in ("safetensors", "recipe"):
        return [ROOT / "fuzz" / "corpus" / name]
    return [ROOT / "fuzz" / "corpus" / name, ROOT / "ops", f"-dict={ROOT / 'fuzz' / 'tile.dict'}"]


def fuzz(folder, name, seconds, corpus, seed):
    """Whether the target found nothing; its last lines are printed where it did."""
    found = (corpus or folder) / f"found-{name}"
    found.mkdir(parents=True, exist_ok=True)
    makers = {"onnx": onnx_seeds, "data": data_seeds}
    seeds = makers[name](folder) if name in makers else stored_seeds(name)
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files of `onnx` and `data`; a disk is ten times as slow
    with tempfile.TemporaryDirectory(dir=in_memory) as scratch:
        done = run([folder / "bin" / f"fuzz_{name}", found, *seeds, f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10",
                    "-rss_limit_mb=4096", f"-max_len={LARGEST}", f"-artifact_prefix={folder}/crash-{name}-",
                    "-print_final_stats=1"],
                   env=dict(os.environ, TMPDIR=scratch, UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"))
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stdout)
    print(f"fuzz_{name}: {runs.group(1) if runs else '?'} inputs in {seconds} s, exit code {done.returncode}")
    if done.returncode != 0 or not runs:
        print(done.stdout[-6000:])
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1, help="of the mutations; 0: another one each time")
    parser.add_argument("targets", nargs="*", default=TARGETS)
    args = parser.parse_args()
    compiler = shutil.which("clang++-19")
    if compiler is None:
        print("there is no clang++-19; scripts/setup.sh installs it")
        return 1 if os.environ.get("CI") else SKIPPED
    problem = build(args.build.resolve(), args.targets, compiler)
    if problem:
        print(problem)
        return 1
    results = [fuzz(args.build.resolve(), name, args.seconds, args.corpus, args.seed) for name in args.targets]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
