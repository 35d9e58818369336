#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where results go: what is no regular file is written to and stays what it is, and what does not arrive is an error."""
import os
import resource
import stat
import subprocess
import threading

import numpy as np

from support import GLYPHS, TOOL, ToolTest, main

MODEL = GLYPHS / "model.onnx"
IMAGE = GLYPHS / "images" / "01.png"
TILE = "function relu(X) -> (Y) {\nY = max(X,0);\n}\n"


class Places(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_device("cpu")

    def bench(self, *arguments, **options):
        return self.succeed("bench", MODEL, "--device", "cpu", "--repeat", 1, *arguments, **options)

    def read_fifo(self, path, write):
        """What `write` puts into a FIFO."""
        os.mkfifo(path)
        got = []
        reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
        reader.start()
        write()
        reader.join(10)
        self.assertTrue(stat.S_ISFIFO(path.stat().st_mode))
        self.assertEqual(len(got), 1, "nobody wrote into the FIFO")
        return got[0]

    def test_fifos(self):
        table = self.read_fifo(self.folder / "csv", lambda: self.bench("--csv", self.folder / "csv"))
        self.assertTrue(table.startswith(b"#,us,share,GFLOP/s"))
        trace = self.read_fifo(self.folder / "trace", lambda: self.bench("--profile", self.folder / "trace"))
        self.assertIn(b"traceEvents", trace)
        output = self.folder / "out.npy"
        array = self.read_fifo(output, lambda: self.succeed("run", MODEL, "--device", "cpu", "--image", IMAGE, "--output", output))
        self.assertTrue(array.startswith(b"\x93NUMPY"))
        records = self.folder / "records.sqlite"
        export = self.folder / "export"
        self.assertEqual(self.read_fifo(export, lambda: self.succeed("tune", "--export", export, "--records", records)), b"")
        dump = self.folder / "dump"
        dump.mkdir()
        plan = self.read_fifo(dump / "plan.txt", lambda: self.succeed("run", MODEL, "--device", "cpu", "--image", IMAGE,
                                                                     "--dump", dump))
        self.assertGreater(len(plan), 100)

    def test_symlinks(self):
        (self.folder / "there").mkdir()
        target = self.folder / "there" / "table.csv"
        link = self.folder / "link.csv"
        link.symlink_to("there/table.csv")
        for begin in ("dangling", "old"):
            self.bench("--csv", link)
            self.assertTrue(link.is_symlink(), begin)
            self.assertTrue(target.read_text().startswith("#,us,share,GFLOP/s"), begin)
            target.write_text("old")
        tile = self.folder / "there" / "relu.tile"
        tile.write_text(TILE)
        tile.chmod(0o640)
        (self.folder / "relu.tile").symlink_to(tile)
        self.succeed("fmt", self.folder / "relu.tile")
        self.assertTrue((self.folder / "relu.tile").is_symlink())
        self.assertNotEqual(tile.read_text(), TILE)
        self.assertEqual(stat.S_IMODE(tile.stat().st_mode), 0o640)
        self.assertEqual(sorted(p.name for p in (self.folder / "there").iterdir()), ["relu.tile", "table.csv"])
        (self.folder / "round").symlink_to("round")
        self.refuse("bench", MODEL, "--device", "cpu", "--repeat", 1, "--csv", self.folder / "round", says=["cannot write"])

    def test_devices(self):
        null, full = self.folder / "null", self.folder / "full"
        try:
            os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
            null.write_bytes(b"x")
        except OSError:
            self.skipTest("only root can make device nodes, where the file system takes them")
        self.bench("--csv", null)
        self.assertTrue(stat.S_ISCHR(null.stat().st_mode))
        self.refuse("bench", MODEL, "--device", "cpu", "--repeat", 1, "--csv", full, says=[str(full), "No space left"])
        self.assertTrue(stat.S_ISCHR(full.stat().st_mode))

    # None of the regular files has changed when one of several results cannot be written.
    def test_all_or_none(self):
        texts = [self.folder / "a.tile", self.folder / "b.tile"]
        texts[0].write_text(TILE)
        texts[1].write_text(TILE * 100)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

        done = subprocess.run([TOOL, "fmt", *texts], preexec_fn=limit, restore_signals=False, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("b.tile: cannot write the file: File too large", done.stderr)
        self.assertEqual([text.read_text() for text in texts], [TILE, TILE * 100])
        self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_standard_output_by_name(self):
        for name in ("pipe", "file"):
            with open(self.folder / "all.txt", "w+b") as file:
                environment = dict(os.environ, TILEFUSE_CACHE=str(self.cache))
                done = subprocess.run([TOOL, "bench", MODEL, "--device", "cpu", "--repeat", "1", "--csv", "/dev/stdout"],
                                      stdout=subprocess.PIPE if name == "pipe" else file, env=environment, timeout=600)
                text = done.stdout if name == "pipe" else (self.folder / "all.txt").read_bytes()
            self.assertEqual(done.returncode, 0)
            self.assertTrue(text.startswith(b"#,us,share,GFLOP/s"), name)
            self.assertIn(b"\ndevice   ", text, name)


class FullDisk(ToolTest):
    def test_every_verb(self):
        """`> /dev/full`."""
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        tile = self.folder / "relu.tile"
        tile.write_text(TILE)
        relu = ("--from=tile", tile, "--tensor", "X=f32[8]")
        np.save(self.folder / "x.npy", np.zeros((1, 3, 32, 32), np.float32))
        verbs = [("--help",), ("--version",), ("run", "--help"), ("devices",), ("fusion", MODEL), ("fusion", MODEL, "--csv", "-"),
                 ("explain", tile, "--tensor", "X=f32[8]"), ("opt", *relu, "--to=kernel"), ("simulate", *relu),
                 ("fmt", "--check", tile)]
        if "tilefuse_llvm.so is in none of" not in self.succeed("devices"):
            on_cpu = (MODEL, "--device", "cpu")
            verbs += [("run", *on_cpu, "--input", self.folder / "x.npy"), ("bench", *on_cpu, "--repeat", 1),
                      ("bench", *on_cpu, "--repeat", 1, "--csv", "-"), ("verify", *on_cpu, "--samples", 1),
                      ("tune", *on_cpu, "--budget", "0.1s", "--kernel", 0),
                      ("tune", "--export", self.folder / "none")]
        for verb in verbs:
            with self.subTest(verb=" ".join(map(str, verb))), open("/dev/full", "wb") as full:
                environment = dict(os.environ, TILEFUSE_CACHE=str(self.cache))
                done = subprocess.run([TOOL, *map(str, verb)], stdout=full, stderr=subprocess.PIPE, env=environment, text=True,
                                      timeout=600)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("tilefuse: error: standard output: cannot write all of it", done.stderr)


if __name__ == "__main__":
    main()
