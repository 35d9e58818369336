#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of README.md and docs/libraries.md run as they stand there, and are short."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import ROOT, main  # noqa: E402

LIBRARY = pathlib.Path(os.environ["TILEFUSE_LIBRARY"]).parent
CPP = "#include <cstdio>\n#include <vector>\n#include <tilefuse/tilefuse.hpp>\nint main() {\n%s}\n"


class Readme(unittest.TestCase):
    def blocks(self, language):
        found = [block for page in ("README.md", "docs/libraries.md")
                 for block in re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)]
        self.assertGreater(len(found), 1)
        for block in found:
            self.assertLessEqual(len(block.splitlines()), 6, block)
            yield block

    def test_python(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
            for block in self.blocks("python"):
                if "onnxruntime" in block:
                    continue  # tests/ort/provider_test.py has that
                subprocess.run([sys.executable, "-c", block], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def test_cpp(self):
        with tempfile.TemporaryDirectory() as folder:
            for block in self.blocks("cpp"):
                source = pathlib.Path(folder) / "readme.cpp"
                source.write_text(CPP % block)
                subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", f"-I{ROOT}/include", source, "-o", f"{folder}/readme",
                                f"-L{LIBRARY}", "-ltilefuse", f"-Wl,-rpath,{LIBRARY}"], check=True)
                subprocess.run([f"{folder}/readme"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
