#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the program prints on terminals of 80 and 120 columns, as tmux shows it: no line of a table or of help is so long that the
terminal breaks it. Every verb that prints is asked, of models whose files, nodes and classes have long names. A line of one word,
or of one behind its label, may be longer: a path is printed whole, so that it can be copied."""
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

from support import DATA, GLYPHS, ROOT, TOOL, ToolTest, main, node, onnx_model, value_info

COLUMNS = (80, 120)
ROWS = 2000  # more than any of them prints
LONG = "a_name_that_says_everything_" * 3 + "again"
WIDE = "層_ÿ_" * 20  # letters of two columns, and of two bytes
GELU = ("--from=tile", ROOT / "ops" / "elementwise.tile", "--tensor", "X=f32[1,64]", "--function", "gelu")


class Screen:
    """A server of tmux with one command at a time, beside a session that keeps it alive."""

    def __init__(self, folder):
        self.socket = pathlib.Path(folder) / "tmux"
        self.tmux("new-session", "-d", "-s", "keeper", "sleep 7200")

    def close(self):
        self.tmux("kill-server")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *map(str, words)], check=True, text=True,
                              stdout=subprocess.PIPE, encoding="utf-8").stdout

    def show(self, command, columns, environment):
        """(what is on the screen, the same with lines that the terminal broke put together again, exit code)"""
        code = self.socket.with_suffix(".code")
        script = f"{shlex.join(map(str, command))}; echo $? > {shlex.quote(str(code))}; tmux -S {self.socket} wait-for -S ended; sleep 600"
        settings = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
        self.tmux("new-session", "-d", "-s", "one", "-x", columns, "-y", ROWS, *settings, "sh", "-c", script)
        try:
            self.tmux("wait-for", "ended")
            return self.tmux("capture-pane", "-p", "-t", "one"), self.tmux("capture-pane", "-p", "-J", "-t", "one"), int(code.read_text())
        finally:
            self.tmux("kill-session", "-t", "one")


def named_model(folder, name):
    """Three nodes, each with a name that fills a line."""
    names = ["x", *(f"{name}_{k}" for k in range(3))]
    nodes = [node("Softmax", [names[k]], [names[k + 1]], name=names[k + 1]) for k in range(3)]
    file = pathlib.Path(folder) / f"{name}.onnx"
    file.write_bytes(onnx_model(nodes, [value_info("x", [1, 64])], [value_info(names[-1], [1, 64])]))
    return file


class Widths(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if shutil.which("tmux") is None:
            raise unittest.SkipTest("tmux is not installed")
        cls.room = pathlib.Path(tempfile.mkdtemp(prefix="tilefuse-screen-"))
        cls.addClassCleanup(shutil.rmtree, cls.room)
        cls.screen = Screen(cls.room)
        cls.addClassCleanup(cls.screen.close)
        cls.named = named_model(cls.room, LONG)
        cls.wide = named_model(cls.room, WIDE)
        cls.glyphs = cls.room / f"glyphs_{LONG}.onnx"
        shutil.copy(GLYPHS / "model.onnx", cls.glyphs)
        labels = (GLYPHS / "labels.txt").read_text().splitlines()
        (cls.room / "labels").write_text("".join(f"{label}_{LONG}\n" for label in labels))
        (cls.room / "pictures").symlink_to(GLYPHS / "images")
        cls.image = cls.room / f"picture_{LONG}.png"
        shutil.copy(GLYPHS / "images" / "01.png", cls.image)

    def check(self, *arguments):
        environment = {"TILEFUSE_CACHE": str(self.cache), "TILEFUSE_RECORDS": str(self.room / "records"), "HOME": str(self.room)}
        for columns in COLUMNS:
            words = [str(word).replace("{columns}", str(columns)) for word in arguments]
            seen, joined, code = self.screen.show([TOOL, *words], columns, environment)
            self.assertEqual(code, 0, seen.rstrip())
            self.assertTrue(seen.strip(), arguments)
            lines = {line.rstrip() for line in seen.splitlines()}
            broken = [line for line in joined.splitlines() if line.rstrip() not in lines and len(line.split()) > 2]
            self.assertEqual(broken, [], f"{columns} columns: {shlex.join(map(str, arguments))}")

    def test_help_of_every_verb(self):
        pages = self.room / "pages"
        pages.mkdir()
        self.succeed("man", "--all", pages)
        verbs = sorted(page.stem.removeprefix("tilefuse-") for page in pages.glob("tilefuse-*.1"))
        self.assertGreater(len(verbs), 15)
        self.check("--help")
        for verb in verbs:
            self.check(verb, "--help")
            self.check("help", verb)

    def test_what_is_there(self):
        for verb in (("devices",), ("operators",), ("--version",)):
            self.check(*verb)

    def test_times(self):
        on_cpu = ("--device", "cpu", "--no-records")
        for model in (self.named, self.wide, self.glyphs):
            self.check("bench", model, "--repeat", 2, *on_cpu)
            self.check("bench", model, "--repeat", 2, "--streams", 2, *on_cpu)
        self.check("bench", self.glyphs, "--repeat", 1, "--gradient=weights", *on_cpu)
        self.check("bench", self.glyphs, "--repeat", 1, "--image", self.image, *on_cpu)
        self.check("tune", self.named, "--budget", "1s", "--device", "cpu", "--records", self.room / "tuned")

    def test_results(self):
        on_cpu = ("--device", "cpu", "--scale", "1/255")
        run = ("run", self.glyphs, "--image", self.image)
        self.check(*run, *on_cpu)
        self.check(*run, *on_cpu, "--labels", self.room / "labels", "--verbose", "--repeat", 2)
        self.check(*run, *on_cpu, "--precision", "int8", "--calibrate", self.image)
        self.check("run", self.glyphs, "--image", self.room / "pictures", *on_cpu, "--output", self.room / "out")
        self.check("quantize", self.glyphs, "--calibrate", self.image, "--scale", "1/255", "--output", self.room / f"q_{LONG}.onnx",
                   "--sensitivity")

    def test_reasons(self):
        self.check("explain", self.wide, "--device", "cpu")
        for model in (self.named, self.glyphs):
            self.check("explain", model, "--device", "cpu")
            self.check("explain", model, "--target", "cuda_sm90", "--precision", "f16")
            for section in ("candidates", "layout", "threads"):
                self.check("explain", model, "--kernel", 1, "--device", "cpu", "--section", section)
            self.check("fusion", model)
            self.check("verify", model, "--samples", 1, "--device", "cpu")
        self.check("fusion", self.glyphs, "--decisions")
        self.check("simulate", *GELU)

    def test_training(self):
        recipe = self.room / f"recipe_{LONG}.toml"
        recipe.write_text((GLYPHS / "recipe.toml").read_text())
        for name in ("model.onnx", "train.txt", "images", "labels.txt"):
            (self.room / name).symlink_to(GLYPHS / name)
        self.check("train", recipe, "--dry-run", "--device", "cpu")
        self.check("train", recipe, "--device", "cpu", "-o", self.room / ("run_{columns}_" + LONG))

    def test_the_driver(self):
        self.check("doctor", "--device", "cpu", "--seconds", 0, "--reproducers", self.room / "none")


if __name__ == "__main__":
    main()
