#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first day: the steps of README.md, typed one after another in an empty folder with nothing but the archive of
`make bundle LLVM=1`, a model's file and a photograph, each with the time that README states and the one that it took.

A step is a line of README's code blocks whose comment begins with a time (`# 3 s: …`); the block of Python that loads a model
is the last. Python needs a wheel: TILEFUSE_WHEEL names it, else the newest of build/ is taken.

    ctest --test-dir build -R nightly_first_day --verbose
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

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


def unpacked(folder):
    """Where the archive's program lies, and what unpacking took."""
    subprocess.run([str(ROOT / "scripts" / "bundle.sh"), str(TOOL.parent.parent), str(folder), "llvm"], check=True,
                   stdout=subprocess.DEVNULL)
    started = time.monotonic()
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder)
    return next(folder.glob("*/bin/tilefuse")), time.monotonic() - started


def typed(command, place, home, path):
    """Seconds that a command took, and what it said."""
    environment = {"HOME": str(home), "PATH": f"{path}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    started = time.monotonic()
    done = subprocess.run(command, cwd=place, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=1200)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}\nended with {done.returncode}")
    return seconds, done.stdout


class Day:
    def __init__(self, folder):
        self.folder, self.late = folder, []
        self.place, self.home = folder / "place", folder / "home"
        self.place.mkdir()
        self.home.mkdir(mode=0o700)

    def row(self, what, seconds, stated=None):
        print(f"{seconds:7.1f} s  {f'README: {stated:g} s' if stated else '':<14}  {what}", flush=True)
        if stated and seconds > TOO_SLOW * stated:
            self.late.append(what)

    def fill(self, program):
        """What a newcomer brings along, and the archive's examples."""
        for name, model in MODELS.items():
            shutil.copy(DATA / "models" / model / "model.onnx", self.place / name)
        for name, file in FILES.items():
            shutil.copy(DATA / file, self.place / name)
        shutil.copytree(program.parent.parent / "examples", self.place / "examples")

    def from_python(self, block, stated):
        found = wheel()
        if found is None:
            print("skipped: Python: no wheel; `make wheel` writes it, or TILEFUSE_WHEEL names one")
            return
        environment = self.folder / "environment"
        seconds, _ = typed(["/usr/bin/python3", "-m", "venv", "--system-site-packages", str(environment)], self.place, self.home, "/bin")
        python = str(environment / "bin" / "python")
        installed, _ = typed([python, "-m", "pip", "install", "--no-deps", "--no-index", "-q", str(found)], self.place, self.home, "/bin")
        self.row(f"pip install {found.name}", seconds + installed)
        self.row("call it from Python", typed([python, "-c", block], self.place, self.home, "/bin")[0], stated)


def main():
    if not (DATA / "models").is_dir():
        print(f"skipped: {DATA / 'models'} is missing")
        sys.exit(SKIPPED)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tilefuse-day-"))
    try:
        day = Day(folder)
        program, seconds = unpacked(folder)
        day.row("unpack the archive", seconds)
        day.fill(program)
        told = steps(readme)
        if len(told) < 7:
            sys.exit(f"README has times for {len(told)} steps, at least 7 are needed")
        for command, stated, what in told:
            seconds, _ = typed(shlex.split(command), day.place, day.home, str(program.parent))
            day.row(what, seconds, stated)
        for name in ("boxes.png", "mask.png", "page.html", "run/best.onnx"):
            if not (day.place / name).exists():
                sys.exit(f"README's steps leave no {name}")
        day.from_python(*python_step(readme))
        if day.late:
            sys.exit(f"more than {TOO_SLOW} times what README states: {', '.join(day.late)}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
