#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first day on an empty machine: in a Debian 12 that debootstrap makes, with Python and nothing else, the steps of
README.md are typed one after another, with the archive of `make bundle LLVM=1`, the wheel and the Debian packages, models' files
and a photograph; each with the time that README states and the one that it took.

A step is a line of README's code blocks whose comment begins with a time (`# 3 s: …`); the first block of Python that loads a
model is one more. TILEFUSE_WHEEL names the wheel, else the newest of build/ is taken.

    ctest --test-dir build -R nightly_first_day --verbose
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from empty_system import EmptySystem
from support import DATA, ROOT, SKIPPED, TOOL

MODELS = {"squeezenet1.1.onnx": "squeezenet11_fp32", "yolox_nano.onnx": "yolox_nano", "deeplabv3.onnx": "deeplabv3_mnv2"}
FILES = {"dog.jpg": "images/dog.jpg", "synset.txt": "labels/imagenet_synset.txt"}
TOO_SLOW = 5  # times what README states: more than a busy machine explains


def steps(readme):
    """(command, stated seconds, what it is for) of every line with a time."""
    pattern = re.compile(r"^    (tilefuse .*?)\s+# ([0-9.]+) s: (.*)$", re.MULTILINE)
    return [(command, float(seconds), what) for command, seconds, what in pattern.findall(readme)]


def python_step(readme):
    """The first block of Python that imports tilefuse, and its stated time."""
    block = next(code for code in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "tilefuse as tf" in code)
    return block, float(re.search(r"# ([0-9.]+) s$", block, re.MULTILINE).group(1))


def wheel():
    named = os.environ.get("TILEFUSE_WHEEL")
    found = sorted(TOOL.parent.parent.rglob("tilefuse-*.whl"), key=lambda path: path.stat().st_mtime)
    return pathlib.Path(named) if named else found[-1] if found else None


def given(place):
    """What a newcomer brings along: the files to install, models and a photograph."""
    build = TOOL.parent.parent
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([str(ROOT / "scripts" / "bundle.sh"), str(build), str(place), "llvm"], **quiet)
    subprocess.run(["cpack", "--config", str(build / "CPackConfig.cmake"), "-B", str(place / "packages")], **quiet)
    shutil.rmtree(place / "packages" / "_CPack_Packages", ignore_errors=True)
    if wheel() is not None:
        shutil.copy(wheel(), place)
    for name, model in MODELS.items():
        shutil.copy(DATA / "models" / model / "model.onnx", place / name)
    for name, file in FILES.items():
        shutil.copy(DATA / file, place / name)


class Day:
    def __init__(self, system):
        self.system, self.late = system, []
        home = system.root / "home"
        shutil.rmtree(home)
        self.place = home / "place"
        self.place.mkdir(parents=True)
        home.chmod(0o700)

    def type(self, what, command, stated=None, path="/usr/bin:/bin"):
        """Runs a command in the place, and prints what it was for and the time it took."""
        started = time.monotonic()
        try:
            self.system.inside(f"cd /home/place && {command}", HOME="/home", PATH=f"{path}:/usr/sbin:/sbin", LC_ALL="C.UTF-8")
        except AssertionError as wrong:
            sys.exit(str(wrong))
        seconds = time.monotonic() - started
        print(f"{seconds:7.1f} s  {f'README: {stated:g} s' if stated else '':<14}  {what}", flush=True)
        if stated and seconds > TOO_SLOW * stated:
            self.late.append(what)

    def command_line(self, readme):
        self.type("unpack the archive", "tar xf tilefuse-*.tar.gz && cp -r tilefuse-*/examples .", 2)
        program = next(self.place.glob("tilefuse-*/bin"))
        told = steps(readme)
        if len(told) < 7:
            sys.exit(f"README has times for {len(told)} steps, at least 7 are needed")
        for command, stated, what in told:
            self.type(what, command, stated, f"/home/place/{program.relative_to(self.place)}:/usr/bin:/bin")
        for name in ("boxes.png", "mask.png", "page.html", "run/best.onnx"):
            if not (self.place / name).exists():
                sys.exit(f"README's steps leave no {name}")

    def python(self, block, stated):
        if wheel() is None:
            print("skipped: Python: no wheel; `make wheel` writes it, or TILEFUSE_WHEEL names one")
            return
        (self.place / "block.py").write_text(block)
        self.type("python3 -m venv", "python3 -m venv --system-site-packages env")
        self.type("pip install the wheel", "env/bin/pip install --no-index -q tilefuse-*.whl", 6)
        self.type("call it from Python", "env/bin/python block.py", stated)

    def packages(self):
        self.type("apt update", "apt-get update -q")
        self.type("apt install the packages", "apt-get install -q -y --no-install-recommends ./packages/*.deb")
        self.type("what they hold", "tilefuse run examples/glyphs/model.onnx --image examples/glyphs/images/01.png")


def main():
    if not (DATA / "models").is_dir():
        print(f"skipped: {DATA / 'models'} is missing")
        sys.exit(SKIPPED)
    try:
        system = EmptySystem("day", ["python3", "python3-venv", "python3-numpy"])
    except unittest.SkipTest as missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    try:
        day = Day(system)
        given(day.place)
        day.command_line(readme)
        day.python(*python_step(readme))
        day.packages()
        if day.late:
            sys.exit(f"more than {TOO_SLOW} times what README states: {', '.join(day.late)}")
    finally:
        system.remove()


if __name__ == "__main__":
    main()
