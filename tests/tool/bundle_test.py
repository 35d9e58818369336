#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The archive of `make bundle` runs elsewhere: unpacked in another folder, with nothing of this environment."""
import subprocess
import tarfile

from support import GLYPHS, ROOT, TOOL, ToolTest, best_labels, main

LIMIT_BYTES = 40 << 20
SYSTEM = ("linux-vdso", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux", "libstdc++.so", "libgcc_s.so",
          "libz.so")


class Bundle(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([str(ROOT / "scripts" / "bundle.sh"), str(TOOL.parent.parent), str(cls.shared_folder)], check=True,
                       stdout=subprocess.DEVNULL)
        cls.archive = next(cls.shared_folder.glob("tilefuse-*-linux-x86_64.tar.gz"))
        cls.place = cls.shared_folder / "another place"
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.place)
        cls.program = next(cls.place.glob("*/bin/tilefuse"))

    def start(self, *arguments):
        environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        done = subprocess.run([str(self.program), *map(str, arguments)], env=environment, cwd="/", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_size(self):
        self.assertLessEqual(self.archive.stat().st_size, LIMIT_BYTES)

    def test_libraries_are_its_own(self):
        for program in (self.program, *self.place.glob("*/lib/tilefuse/*")):
            listed = subprocess.run(["ldd", str(program)], text=True, stdout=subprocess.PIPE, check=True).stdout
            self.assertNotIn("not found", listed)
            for line in listed.splitlines():
                if not any(name in line for name in SYSTEM):
                    self.assertIn(str(self.place), line)

    def test_nothing_points_into_the_build(self):
        self.assertEqual(list(self.place.rglob("tilefuse.share")), [])

    def test_devices(self):
        self.assertIn("cpu", self.start("devices"))

    def test_model(self):
        self.need_device("opencl")
        rows = [line.split("\t") for line in (GLYPHS / "images" / "expected.txt").read_text().splitlines()]
        text = self.start("run", GLYPHS / "model.onnx", "--device", "opencl", "--image",
                          *[GLYPHS / "images" / name for name, _ in rows])
        self.assertEqual(best_labels(text), [label for _, label in rows])

    def test_without_llvm_the_default_is_opencl(self):
        self.need_device("opencl")
        text = self.start("run", GLYPHS / "model.onnx", "--image", GLYPHS / "images" / "01.png")
        self.assertRegex(text, r"device .*opencl.*because of the cpu")


if __name__ == "__main__":
    main()
