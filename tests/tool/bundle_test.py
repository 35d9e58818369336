#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The archive of `make bundle` runs elsewhere: unpacked in another folder, with an empty environment.

TILEFUSE_BUNDLE names the archive."""
import os
import pathlib
import subprocess
import tarfile

from support import GLYPHS, ToolTest, best_labels, main

BUNDLE = pathlib.Path(os.environ["TILEFUSE_BUNDLE"])
LIMIT_BYTES = 40 << 20


class Bundle(ToolTest):
    def setUp(self):
        super().setUp()
        with tarfile.open(BUNDLE) as archive:
            archive.extractall(self.folder)
        self.program = next(self.folder.glob("*/bin/tilefuse"))

    def start(self, *arguments):
        done = subprocess.run([str(self.program), *map(str, arguments)], env={"HOME": str(self.folder)}, cwd="/", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_size(self):
        if not list(self.folder.glob("*/lib/libLLVM*")):
            self.assertLessEqual(BUNDLE.stat().st_size, LIMIT_BYTES)

    def test_libraries_are_its_own(self):
        listed = subprocess.run(["ldd", str(self.program)], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.assertNotIn("not found", listed)
        for line in listed.splitlines():
            system = ("linux-vdso", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux")
            if not any(name in line for name in system):
                self.assertIn(str(self.folder), line)

    def test_no_path_of_the_build_machine_is_needed(self):
        for path in self.folder.rglob("tilefuse.share"):
            self.fail(f"{path} points into a build tree")

    def test_devices(self):
        self.assertIn("cpu", self.start("devices"))

    def test_model(self):
        self.need_device("opencl")
        rows = [line.split("\t") for line in (GLYPHS / "images" / "expected.txt").read_text().splitlines()]
        text = self.start("run", GLYPHS / "model.onnx", "--device", "opencl", "--image",
                          *[GLYPHS / "images" / name for name, _ in rows])
        self.assertEqual(best_labels(text), [label for _, label in rows])


if __name__ == "__main__":
    main()
