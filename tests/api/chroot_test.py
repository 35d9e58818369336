#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages in a system that has nothing else: debootstrap makes one in a folder, apt installs the packages there with
what they depend on, and within it the examples are built by CMake and by pkg-config and run. What the loader finds is the
folder's alone (tests/tool/empty_system.py)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from empty_system import EmptySystem  # noqa: E402
from support import GLYPHS, ROOT, TOOL, main  # noqa: E402

BUILD = pathlib.Path(os.environ["TILEFUSE_BUILD"])
TOOLS = "gcc g++ libc6-dev cmake make pkg-config".split()  # of those who build against it


def done(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


class Chroot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.system = EmptySystem("root", TOOLS)
        cls.addClassCleanup(cls.system.remove)
        cls.root = cls.system.root
        cls.install()

    @classmethod
    def install(cls):
        given = cls.root / "given"
        shutil.rmtree(given, ignore_errors=True)
        given.mkdir()
        done("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", given / "packages")
        shutil.rmtree(given / "packages" / "_CPack_Packages", ignore_errors=True)
        for language in ("c", "cpp"):
            shutil.copytree(ROOT / "examples" / language, given / language)
        shutil.copy(GLYPHS / "model.onnx", given)
        cls.image = np.random.default_rng(3).random((1, 3, 32, 32), dtype=np.float32)
        (given / "image.raw").write_bytes(cls.image.tobytes())
        np.save(given / "image.npy", cls.image)
        cls.inside("apt-get update -q && apt-get install -q -y --no-install-recommends --reinstall /given/packages/*.deb")

    @classmethod
    def inside(cls, command):
        return cls.system.inside(command)

    def best(self, text):
        self.assertEqual([line.split()[0] for line in text.splitlines()], list("12345"))
        return [int(line.split()[1]) for line in text.splitlines()]

    def expected(self):
        with tempfile.TemporaryDirectory() as folder:
            done(TOOL, "run", GLYPHS / "model.onnx", "--input", self.root / "given" / "image.npy", "--output", f"{folder}/scores.npy")
            return np.argsort(-np.load(f"{folder}/scores.npy").ravel())[:5].tolist()

    def test_cmake(self):
        for language in ("c", "cpp"):
            with self.subTest(language):
                text = self.inside(f"cmake -S /given/{language} -B /given/{language}/build >&2 && "
                                   f"cmake --build /given/{language}/build >&2 && "
                                   f"/given/{language}/build/top5 /given/model.onnx /given/image.raw")
                self.assertEqual(self.best(text), self.expected())

    def test_pkg_config(self):
        for language, compiler in (("c", "cc -std=c99 -pedantic -Wall -Werror"), ("cpp", "c++ -std=c++17")):
            with self.subTest(language):
                text = self.inside(f"{compiler} /given/{language}/top5.{language} -o /given/top5_{language} "
                                   "$(pkg-config --cflags --libs tilefuse) && "
                                   f"/given/top5_{language} /given/model.onnx /given/image.raw")
                self.assertEqual(self.best(text), self.expected())

    def test_command_line(self):
        self.assertRegex(self.inside("tilefuse devices"), r"cpu .*usable")
        self.inside("tilefuse run /given/model.onnx --input /given/image.npy --output /given/scores.npy")
        scores = np.load(self.root / "given" / "scores.npy")
        self.assertEqual(np.argsort(-scores.ravel())[:5].tolist(), self.expected())

    def test_all_libraries_are_found(self):
        self.assertNotIn("not found", self.inside("ldd /usr/lib/libtilefuse.so.0 /usr/bin/tilefuse"))


if __name__ == "__main__":
    main()
