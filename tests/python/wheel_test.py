#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel: made, installed into a fresh environment, and the package's own tests on it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "tool"))
from support import main  # noqa: E402


class Wheel(unittest.TestCase):
    def test_in_a_fresh_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            build = os.environ["TILEFUSE_BUILD"]
            subprocess.run([ROOT / "scripts" / "wheel.sh", build, folder], check=True, stdout=subprocess.DEVNULL)
            wheel, = pathlib.Path(folder).glob("*-py3-none-manylinux_2_34_x86_64.whl")
            self.assertLess(wheel.stat().st_size, 40e6)
            # NumPy is the system's: nothing is downloaded.
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", f"{folder}/env"], check=True)
            python = f"{folder}/env/bin/python"
            subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel], check=True)
            environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TILEFUSE_LIBRARY")}
            where = subprocess.run([python, "-c", "import tilefuse; print(tilefuse.library_path())"], env=environment,
                                   cwd=folder, check=True, capture_output=True, text=True).stdout
            self.assertTrue(where.startswith(folder), where)
            load = "import ctypes, tilefuse; print(tilefuse.ort_library()); ctypes.CDLL(tilefuse.ort_library()).CreateEpFactories"
            where = subprocess.run([python, "-c", load], env=environment, cwd=folder, check=True, capture_output=True, text=True).stdout
            self.assertTrue(where.startswith(folder), where)
            for tests in (["package_test.py"], ["training_test.py", "Training.test_steps_checkpoints_and_models"]):
                done = subprocess.run([python, HERE / tests[0], *tests[1:]], env=environment, cwd=folder, capture_output=True, text=True)
                self.assertIn(done.returncode, (0, 77), done.stderr)


if __name__ == "__main__":
    main()
