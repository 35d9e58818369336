#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Passes over programs: --time-passes, --disable-pass and the programs that --dump writes."""
import re

import numpy as np

from support import GLYPHS, ToolTest, main

MODEL = GLYPHS / "model.onnx"
SIMPLIFY = ["integer_products", "fold_constants", "absorb_movement", "fold_scales", "narrow_integers", "share_concatenations",
            "mask_winners", "drop_dead"]
COMPOSE = ["read_broadcast", "compose_maps", "affine_gradients", "join_sums", "sum_winners", "merge_sums"]
LAY_OUT = ["join_groups", "widen_first_layers", "store_filters", "pad_channels"]


def rows(stderr):
    """Pass → (runs, changed) of the table of --time-passes."""
    found = re.findall(r"^(\w+) +(\d+) +(\d+) +\d+\.\d+$", stderr, re.MULTILINE)
    return {name: (int(runs), int(changed)) for name, runs, changed in found}


class Passes(ToolTest):
    def times(self, *arguments):
        done = self.tool(*arguments, "--time-passes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("fold_constants", done.stdout)
        return rows(done.stderr)

    def simplified(self, *options, target="cpu_avx2"):
        return self.succeed("opt", "--from=onnx", "--to=simplified", MODEL, "--target", target, *options)

    def test_times_on_stderr(self):
        quiet = self.tool("opt", "--from=onnx", "--to=simplified", MODEL)
        self.assertEqual(quiet.stderr, "")
        times = self.times("opt", "--from=onnx", "--to=simplified", MODEL)
        self.assertEqual(list(times), ["import"] + SIMPLIFY + COMPOSE)
        self.assertEqual(times["import"], (1, 1))
        self.assertEqual(times["fold_constants"][0], 2)

    def test_stages_of_a_device_and_a_gradient(self):
        times = self.times("opt", "--from=onnx", "--to=simplified", MODEL, "--target", "cuda_sm90", "--gradient=weights")
        self.assertEqual(list(times), ["import", "gradient"] + SIMPLIFY + COMPOSE + LAY_OUT)

    def test_simplified_once_in_another_precision(self):
        plain = self.times("explain", MODEL, "--layer", "0", "--target", "opencl_cpu")
        half = self.times("explain", MODEL, "--layer", "0", "--target", "opencl_cpu", "--precision", "bf16")
        behind = list(plain).index(COMPOSE[0])
        self.assertEqual(list(half), list(plain)[:behind] + ["with_precision"] + list(plain)[behind:])
        for name in plain:
            self.assertEqual(half[name][0], plain[name][0], name)

    def test_run_times_up_to_the_layout(self):
        self.need_device("cpu")
        image = GLYPHS / "images" / "01.png"
        times = self.times("run", MODEL, "--device", "cpu", "--image", image)
        self.assertEqual(list(times), ["import"] + SIMPLIFY + COMPOSE + ["choose_layout"])

    def test_results_without_a_pass(self):
        """Every pass that can be left out only makes kernels quicker."""
        self.need_device("cpu")
        np.save(self.folder / "x.npy", np.random.default_rng(3).uniform(-1, 1, (1, 3, 32, 32)).astype(np.float32))
        results = {}
        for name in [None, *SIMPLIFY, *COMPOSE]:
            out = self.folder / f"{name}.npy"
            off = ["--disable-pass", name] if name else []
            self.succeed("run", MODEL, "--device", "cpu", "--input", self.folder / "x.npy", "--output", out, *off)
            results[name] = np.load(out)
        for name in SIMPLIFY + COMPOSE:
            np.testing.assert_allclose(results[name], results[None], rtol=1e-4, atol=1e-6, err_msg=name)

    def test_left_out(self):
        without = self.succeed("opt", "--disable-pass", "fold_constants", MODEL, "--from=onnx", "--to=simplified")
        self.assertNotEqual(without, self.simplified())
        for name in LAY_OUT:
            self.simplified("--disable-pass", name, target="cuda_sm90")
        times = self.times("opt", "--from=onnx", "--to=simplified", MODEL, "--disable-pass", "fold_constants",
                           "--disable-pass", "drop_dead")
        self.assertEqual(list(times), ["import", *(name for name in SIMPLIFY if name not in ("fold_constants", "drop_dead")), *COMPOSE])

    def test_names_that_cannot_be_left_out(self):
        for verb in (["run", MODEL], ["bench", MODEL], ["opt", "--from=onnx", "--to=group", MODEL], ["fusion", MODEL]):
            self.refuse(*verb, "--disable-pass", "nope",
                        says=["there is no pass 'nope'", ", ".join(SIMPLIFY + COMPOSE + LAY_OUT)])
        self.refuse("run", MODEL, "--disable-pass", "import", says=["import cannot be left out", "no program before it"])
        self.refuse("bench", MODEL, "--disable-pass", "choose_layout", says=["choose_layout cannot be left out"])

    def test_dump_has_a_file_for_each_change(self):
        dump = self.folder / "dump"
        whole = self.simplified("--dump", dump)
        names = sorted(path.name for path in dump.iterdir())
        self.assertEqual(names[0], "pass00.import.txt")
        self.assertEqual((dump / names[0]).read_text(), self.succeed("opt", "--from=onnx", "--to=program", MODEL))
        self.assertEqual((dump / names[-1]).read_text(), whole)
        times = self.times("opt", "--from=onnx", "--to=simplified", MODEL)
        self.assertEqual(len(names), sum(changed for _, changed in times.values()))


if __name__ == "__main__":
    main()
