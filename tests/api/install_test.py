#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed: the examples are built against it, outside of the tree, by CMake and by pkg-config, and print the best
classes that the command line prints; the Debian packages hold it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import GLYPHS, ROOT, ToolTest, main  # noqa: E402

BUILD = pathlib.Path(os.environ["TILEFUSE_BUILD"])
COMPILERS = {"c": ["cc", "-std=c99", "-pedantic"], "cpp": ["c++", "-std=c++17"]}


def done(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


class Installed(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.shared_folder / "prefix"
        for component in ("library", "runtime", "llvm", "dev"):
            done("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component)

    def setUp(self):
        super().setUp()
        image = np.random.default_rng(3).random((1, 3, 32, 32), dtype=np.float32)
        (self.folder / "image.raw").write_bytes(image.tobytes())
        np.save(self.folder / "image.npy", image)

    def check(self, program):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.prefix / "lib"), TILEFUSE_CACHE=str(self.cache))
        text = done(program, GLYPHS / "model.onnx", self.folder / "image.raw", env=environment)
        self.assertEqual([line.split()[0] for line in text.splitlines()], list("12345"))
        output = self.folder / "scores.npy"
        self.succeed("run", GLYPHS / "model.onnx", "--input", self.folder / "image.npy", "--output", output)
        best = np.argsort(-np.load(output).ravel())[:5]
        self.assertEqual([int(line.split()[1]) for line in text.splitlines()], best.tolist())

    def test_cmake_package(self):
        for language in COMPILERS:
            with self.subTest(language):
                build = self.folder / language
                done("cmake", "-S", ROOT / "examples" / language, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
                done("cmake", "--build", build)
                self.check(build / "top5")

    def test_pkg_config(self):
        flags = done("pkg-config", "--cflags", "--libs", "tilefuse",
                     env=dict(os.environ, PKG_CONFIG_PATH=str(self.prefix / "lib" / "pkgconfig"))).split()
        for language, compiler in COMPILERS.items():
            with self.subTest(language):
                program = self.folder / f"top5_{language}"
                done(*compiler, ROOT / "examples" / language / f"top5.{language}", "-o", program, *flags)
                self.check(program)

    def test_nothing_needs_the_tree(self):
        moved = self.folder / "elsewhere"
        shutil.copytree(self.prefix, moved, symlinks=True)
        program = self.folder / "devices.py"
        program.write_text("import ctypes, sys\nlib = ctypes.CDLL(sys.argv[1])\ntext = ctypes.c_char_p()\n"
                           "assert lib.tf_devices(ctypes.byref(text)) == 0\nprint(text.value.decode())\n")
        told = done(sys.executable, program, moved / "lib" / "libtilefuse.so.0")
        self.assertRegex(told, r'"device":"cpu".*"usable":true')
        self.assertNotIn("only kernels that are in the cache", told)


class Packages(unittest.TestCase):
    def test_debian_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            done("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
            packages = {path.name.split("_")[0]: path for path in pathlib.Path(folder).glob("*.deb")}
            self.assertEqual(set(packages), {"libtilefuse0", "libtilefuse-dev", "tilefuse"})
            for path in packages.values():
                done("dpkg-deb", "-x", path, f"{folder}/root")
            root = pathlib.Path(folder) / "root" / "usr"
            for name in ("lib/libtilefuse.so.0", "lib/libtilefuse.so", "include/tilefuse/tilefuse.h", "bin/tilefuse",
                         "lib/tilefuse/tilefuse_llvm.so", "lib/cmake/tilefuse/tilefuse-config.cmake", "lib/pkgconfig/tilefuse.pc"):
                self.assertTrue((root / name).exists(), name)
            self.assertRegex(done(root / "bin" / "tilefuse", "devices"), r"cpu .*usable")
            self.assertIn("libtilefuse0 (= ", done("dpkg-deb", "-f", packages["libtilefuse-dev"], "Depends"))


if __name__ == "__main__":
    main()
