#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""environment.py FOLDER PACKAGES FILE: runs a Python file in a virtual environment that has the packages, parted by spaces; it
is made in FOLDER where it is not there yet. Without the network exit code 77 says that nothing was run, but with CI set it fails."""
import os
import pathlib
import subprocess
import sys


def make(folder, packages):
    """Whether the packages are there now. NumPy is the system's."""
    done = folder / "installed"
    if done.exists():
        return True
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--system-site-packages", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1"]
    if subprocess.run([*pip, *packages.split()], stderr=subprocess.PIPE).returncode:
        return False
    done.touch()
    return True


def main(folder, packages, file):
    if not make(pathlib.Path(folder), packages):
        print(f"skipped: pip cannot install {packages}")
        return 1 if os.environ.get("CI") else 77
    return subprocess.run([pathlib.Path(folder) / "bin" / "python", file]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
