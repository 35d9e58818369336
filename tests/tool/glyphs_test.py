#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The repository's own network on its own pictures, the kernel cache, and the other verbs."""
import csv
import json
import re
import shutil

import numpy as np

from support import GLYPHS, ToolTest, best_labels, compiled, main, searched

ROWS = [line.split("\t") for line in (GLYPHS / "images" / "expected.txt").read_text().splitlines()]
IMAGES = [GLYPHS / "images" / name for name, _ in ROWS]
LABELS = [label for _, label in ROWS]
MODEL = GLYPHS / "model.onnx"


class Glyphs(ToolTest):
    def check_labels(self, device, *more):
        self.need_device(device)
        text = self.succeed("run", MODEL, "--device", device, *more, "--image", *IMAGES)
        self.assertEqual(best_labels(text), LABELS)
        return text

    def test_cpu(self):
        self.check_labels("cpu")

    def test_opencl(self):
        self.check_labels("opencl")

    def test_batch(self):
        text = self.check_labels("cpu", "--batch", "5")
        self.assertIn("repeats the last image 3 times", text)

    def test_batch_opencl(self):
        self.check_labels("opencl", "--batch", "5")

    def test_settings_by_options(self):
        self.need_device("cpu")
        copy = self.folder / "copy.onnx"
        copy.write_bytes(MODEL.read_bytes())
        text = self.succeed("run", copy, "--device", "cpu", "--size", "32x32", "--scale", "1/127.5", "--mean", "1,1,1",
                            "--labels", GLYPHS / "labels.txt", "--top", "3", "--image", IMAGES[0])
        self.assertEqual(best_labels(text), LABELS[:1])
        self.assertEqual(len(re.findall(r"^ +\d+ +\S+ +\S", text, re.MULTILINE)), 3)
        self.assertNotIn("settings", text)

    def test_output_is_the_batch(self):
        self.need_device("cpu")
        out = self.folder / "deep" / "p.npy"
        self.succeed("run", MODEL, "--device", "cpu", "--batch", "5", "--image", *IMAGES, "--output", out)
        probability = np.load(out)
        self.assertEqual(probability.shape, (len(IMAGES), 20))
        np.testing.assert_allclose(probability.sum(1), 1, rtol=1e-5)
        self.assertEqual([path.name for path in out.parent.iterdir()], ["p.npy"])

    def test_devices_agree(self):
        self.need_device("cpu")
        self.need_device("opencl")
        x = np.random.default_rng(5).uniform(-1, 1, (3, 3, 32, 32)).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        got = []
        for device in ("cpu", "opencl"):
            out = self.folder / device
            self.succeed("run", MODEL, "--device", device, "--input", f"image={self.folder / 'x.npy'}", "--output", out)
            got.append(np.load(*out.iterdir()))
        np.testing.assert_allclose(got[0], got[1], rtol=1e-4, atol=1e-6)


class Cache(ToolTest):
    def second_start(self, device):
        self.need_device(device)
        cache = self.folder / "kernels.sqlite"
        run = ("run", MODEL, "--device", device, "--image", IMAGES[0])
        for count in (compiled, searched):
            self.assertGreater(count(self.succeed(*run, "--no-cache", cache=cache)), 0)
        self.assertGreater(compiled(self.succeed(*run, cache=cache)), 0)
        second = self.succeed(*run, cache=cache)
        self.assertEqual((compiled(second), searched(second)), (0, 0))
        self.assertGreater(searched(self.succeed(*run, "--split", "none", "--fuse", "none", cache=cache)), 0)

    def test_second_start_compiles_nothing_cpu(self):
        self.second_start("cpu")

    def test_second_start_compiles_nothing_opencl(self):
        self.second_start("opencl")

    def damage(self, name, change):
        """A run on a changed cache file gives the right answer, warns and sets the file aside."""
        run = ("run", MODEL, "--device", "cpu", "--image", IMAGES[0])
        cache = self.folder / name
        self.succeed(*run, cache=cache)
        cache.write_bytes(change(cache.read_bytes()))
        done = self.tool(*run, cache=cache)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(best_labels(done.stdout), LABELS[:1])
        self.assertIn("warning", done.stderr)
        self.assertTrue(list(self.folder.glob(f"{name}.damaged*")), done.stderr)
        return compiled(self.succeed(*run, cache=cache)), compiled(self.succeed(*run, cache=cache))

    def test_damaged_file_is_set_aside(self):
        self.need_device("cpu")
        self.assertEqual(self.damage("text", lambda good: b"not a database at all\n" * 300), (0, 0))
        self.assertEqual(self.damage("head", lambda good: b"SQLite format 3\0" + b"\xff" * 5000), (0, 0))
        # What was read before the damage was met is compiled one start later.
        self.assertEqual(self.damage("half", lambda good: good[:len(good) // 2] + b"\xff" * (len(good) // 2))[1], 0)

    def test_a_cache_that_cannot_be_written_is_no_error(self):
        self.need_device("cpu")
        (self.folder / "file").write_text("a file where a folder must be")
        done = self.tool("run", MODEL, "--device", "cpu", "--image", IMAGES[0], cache=self.folder / "file" / "cache.sqlite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning", done.stderr)


class Verbs(ToolTest):
    def test_help_has_an_example(self):
        self.assertIn("tilefuse run", self.succeed("--help"))
        for verb in ("run", "bench", "devices", "opt"):
            self.assertRegex(self.succeed(verb, "--help"), rf"Examples?:\n  tilefuse {verb}")

    def test_devices(self):
        text = self.succeed("devices")
        self.assertRegex(text, r"(?m)^cpu ")
        self.assertRegex(text, r"(?m)^opencl")

    def test_verbose_lists_kernels(self):
        self.need_device("cpu")
        text = self.succeed("run", MODEL, "--device", "cpu", "--verbose", "--repeat", "3", "--image", IMAGES[0])
        launches = int(re.search(r"kernels +(\d+) per run", text).group(1))
        table = text[text.index("GFLOP/s"):].splitlines()[1:]
        self.assertEqual(len(table), launches + 1)  # and the sum
        self.assertIn("median of 3", text)

    def test_bench_csv(self):
        self.need_device("cpu")
        text = self.succeed("bench", MODEL, "--device", "cpu", "--repeat", "5", "--csv", self.folder / "t.csv")
        self.assertRegex(text, r"median \S+ ms, p10 \S+, p90 \S+, p99 \S+, 5 runs")
        rows = list(csv.reader((self.folder / "t.csv").read_text().splitlines()))
        self.assertIn("roofline", rows[0])
        self.assertTrue(all(len(row) == len(rows[0]) for row in rows))
        alone = self.succeed("bench", MODEL, "--device", "cpu", "--repeat", "2", "--csv", "-")
        self.assertEqual(len(alone.splitlines()), len(rows))

    def test_bench_profile_is_a_chrome_trace(self):
        for device in ("cpu", "opencl"):
            with self.subTest(device):
                self.need_device(device)
                text = self.succeed("bench", MODEL, "--device", device, "--repeat", "3", "--profile", self.folder / "t.json")
                events = [event for event in json.loads((self.folder / "t.json").read_text())["traceEvents"]
                          if event["ph"] == "X"]
                self.assertEqual(len(events), int(re.search(r"kernels +(\d+) per run", text).group(1)))
                for event in events:
                    self.assertGreater(event["dur"], 0)
                    for key in ("kernel", "origin", "schedule", "bytes", "operations", "roofline"):
                        self.assertIn(key, event["args"])

    def test_precision_is_said_and_changes_no_label(self):
        for device, precision in (("cpu", "f16"), ("cpu", "bf16"), ("opencl", "f16")):
            with self.subTest(device + " " + precision):
                self.need_device(device)
                arguments = ("run", MODEL, "--device", device, "--precision", precision, "--image", *IMAGES)
                text = self.succeed(*arguments)
                self.assertEqual(best_labels(text), LABELS)
                self.assertRegex(text, rf"precision {precision}: [1-9]\d* weights .* activations stored in it")
                self.assertEqual(compiled(self.succeed(*arguments)), 0)
                self.assertIn("agree with the reference",
                              self.succeed("verify", MODEL, "--device", device, "--precision", precision))

    def test_precision_of_explain_lists_what_keeps_f32(self):
        text = self.succeed("explain", MODEL, "--precision", "f16", "--target", "cuda_sm90", "--layer", "0", "--section",
                            "flatten")
        self.assertRegex(text, r"precision f16: .* kept in f32")
        self.assertRegex(text, r"(?m)^  f32: .*, an output$")

    def test_precisions_that_cannot_be_had(self):
        self.need_device("cpu")
        self.refuse("bench", MODEL, "--device", "cpu", "--precision", "tf32", says=["tf32", "use a cuda device"])

    def test_int8_says_how_far_it_is_from_f32(self):
        self.need_device("cpu")
        said = self.succeed("run", MODEL, "--device", "cpu", "--precision", "int8", "--image", IMAGES[0])
        self.assertIn("precision int8: ", said)
        self.assertIn("relative error", said)
        self.assertEqual(best_labels(said), LABELS[:1])

    def test_quantize_writes_what_int8_runs(self):
        self.need_device("cpu")
        whole = self.folder / "model.int8.onnx"
        said = self.succeed("quantize", MODEL, "--device", "cpu", "--calibrate", *IMAGES[:4], "--entropy", "--sensitivity",
                            "--output", whole)
        self.assertRegex(said, r"integers (\d+) of \1 products, 100.0 %")
        self.assertIn("least information", said)
        products = re.findall(r"(?m)^ *\d\.\d\de[-+]\d\d +\d+ +\d+  (\S+)$", said)
        self.assertGreater(len(products), 1)
        self.assertEqual(len(products), int(re.search(r"of (\d+) products", said)[1]))
        shutil.copy(MODEL.with_suffix(".toml"), whole.with_suffix(".toml"))
        shutil.copy(MODEL.with_name("labels.txt"), self.folder)
        out = self.folder / "int8.npy", self.folder / "whole.npy"
        self.succeed("run", MODEL, "--device", "cpu", "--precision", "int8", "--calibrate", *IMAGES[:4], "--entropy",
                     "--image", IMAGES[5], "--output", out[0])
        self.succeed("run", whole, "--device", "cpu", "--image", IMAGES[5], "--output", out[1])
        self.assertEqual(np.load(out[0]).tobytes(), np.load(out[1]).tobytes())
        kept = self.succeed("quantize", MODEL, "--device", "cpu", "--calibrate", IMAGES[0], "--keep-f32", products[0])
        self.assertIn(f"{products[0]}: asked for", kept)

    def test_dump(self):
        self.need_device("cpu")
        self.succeed("run", MODEL, "--device", "cpu", "--dump", self.folder / "dump", "--image", IMAGES[0])
        self.assertGreater(len(list((self.folder / "dump").rglob("*"))), 5)

    def test_quiet_in_a_pipe(self):
        self.need_device("cpu")
        done = self.tool("run", MODEL, "--device", "cpu", "--no-cache", "--image", IMAGES[0])
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    main()
