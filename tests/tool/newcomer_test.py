#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a newcomer met and must not meet again: a test for each fault of that report, by its number."""
import json
import os
import pty
import re
import shutil
import subprocess

import numpy as np

from support import DATA, GLYPHS, ROOT, TOOL, ToolTest, field, main, node, onnx_model, read_png, value_info

MODEL = GLYPHS / "model.onnx"
IMAGE = GLYPHS / "images" / "01.png"
GELU = ("--from=tile", ROOT / "ops" / "elementwise.tile", "--tensor", "X=f32[1,64]")
SCALE = "function scale(X[N]; F) -> (Y) { Y = F * X; }\n"
VERBS = ("run", "bench", "tune", "train", "evaluate", "data", "explain", "fusion", "opt", "quantize", "simulate", "verify", "doctor",
         "devices", "operators", "fmt", "completion", "man", "help")


def open_model(batch="batch", height="height", width="width"):
    """y = relu(x) whose sizes have names."""
    def dims(*sizes):
        return b"".join(field(1, field(1, size) if isinstance(size, int) else field(2, size)) for size in sizes)

    def value(name):
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims(batch, 3, height, width))))

    return onnx_model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")])


class OnTerminal(ToolTest):
    def on_terminal(self, *arguments, columns=80, environment=None):
        """All that the program writes to a terminal of this width."""
        environment = dict(os.environ, TILEFUSE_CACHE=str(self.cache), TERM="xterm", **(environment or {}))
        environment.pop("COLUMNS", None)
        master, terminal = pty.openpty()
        subprocess.run(["stty", "cols", str(columns)], stdin=terminal, check=True)
        child = subprocess.Popen([str(TOOL), *map(str, arguments)], stdin=terminal, stdout=terminal, stderr=terminal,
                                 env=environment, close_fds=True)
        os.close(terminal)
        data = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            data += part
        os.close(master)
        self.assertEqual(child.wait(), 0, data)
        return data.decode()


class Faults(OnTerminal):
    def test_f1_right_kernels_are_not_called_wrong(self):
        """Two roundings may differ in the last bit."""
        for function in ("gelu", "gelu_tanh", "sigmoid", "softplus", "mish"):
            text = self.succeed("simulate", *GELU, "--function", function)
            self.assertIn("64 elements equal the evaluator's", text)

    def test_f1_wrong_kernels_are(self):
        kernel = self.folder / "race.kernel"
        kernel.write_text("kernel race blocks 1 block_size 64 {\n  global y f32[64]\n  local s f32[64]\n"
                          "  s[lane] = f32(1)\n  y[lane] = s[63 - lane]\n}\n")
        done = self.tool("simulate", "--from=kernel", kernel, "--target", "opencl_gpu")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_f2_gradients_by_name(self):
        self.need_device("cpu")
        (self.folder / "m.onnx").write_bytes(onnx_model([node("Relu", ["x"], ["logits"])], [value_info("x", [1, 4])],
                                                        [value_info("logits", [1, 4])]))
        np.save(self.folder / "x.npy", np.array([[1, -1, 2, -2]], np.float32))
        np.save(self.folder / "g.npy", np.array([[5, 6, 7, 8]], np.float32))
        run = ("run", self.folder / "m.onnx", "--gradient", "--device", "cpu")
        out = self.folder / "out"
        self.succeed(*run, "--input", f"x={self.folder / 'x.npy'}", f"grad logits={self.folder / 'g.npy'}", "--output", out)
        self.assertEqual([path.name for path in out.iterdir()], ["grad_x.npy"])
        np.testing.assert_array_equal(np.load(out / "grad_x.npy"), [[5, 0, 7, 0]])
        self.refuse(*run, "--input", f"x={self.folder / 'x.npy'}", f"grad logit={self.folder / 'g.npy'}",
                    says=["no input 'grad logit'; did you mean 'grad logits'?"])

    def test_f5_a_picture_is_a_picture(self):
        self.need_device("cpu")
        (self.folder / "m.onnx").write_bytes(open_model(1, 2, 2))
        x = np.array([[[[0, 1], [0.5, -1]], [[0, 0], [0, 0]], [[1, 1], [1, 1]]]], np.float32)
        np.save(self.folder / "x.npy", x)
        run = ("run", self.folder / "m.onnx", "--device", "cpu", "--input", self.folder / "x.npy", "--output")
        self.succeed(*run, self.folder / "y.png")
        np.testing.assert_array_equal(read_png(self.folder / "y.png"), [[[0, 0, 255], [255, 0, 255]], [[128, 0, 255], [0, 0, 255]]])
        for name in ("y.jpg", "-"):
            self.refuse(*run, self.folder / name if name != "-" else name, says=["FILE.npy, FILE.png or into a folder"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["m.onnx", "x.npy", "y.png"])
        self.succeed(*run, self.folder / "y")
        self.assertEqual([path.name for path in (self.folder / "y").iterdir()], ["y.npy"])

    def test_f6_sizes_that_the_model_leaves_open(self):
        self.need_device("cpu")
        model = self.folder / "m.onnx"
        model.write_bytes(open_model())
        np.save(self.folder / "x.npy", np.ones((2, 3, 8, 6), np.float32))
        on_cpu = ("--device", "cpu")
        self.assertIn("f32[2, 3, 8, 6]", self.succeed("run", model, *on_cpu, "--input", self.folder / "x.npy"))
        self.assertIn("f32[1, 3, 5, 7]", self.succeed("run", model, *on_cpu, "--image", IMAGE, "--size", "7x5", "--scale", "1/255"))
        shape = ("--shape", "x=1,3,8,8")
        for verb in (("bench", "--repeat", 1), ("verify",), ("explain",), ("fusion",)):
            self.succeed(verb[0], model, *shape, *verb[1:], *(on_cpu if verb[0] in ("bench", "verify") else ()))
        self.refuse("bench", model, *on_cpu, says=["--dim height=320"])

    def test_f7_f8_explain_says_one_choice_of_this_machine(self):
        self.need_device("cpu")
        text = self.succeed("explain", MODEL, "--kernel", 1, "--no-records")
        self.assertEqual(len(re.findall(r"^chosen .* chosen by model$", text, re.MULTILINE)), 1)
        self.assertIn("schedule: model", text)

    def test_f9_one_number_for_a_kernel(self):
        self.need_device("cpu")
        rows = json.loads(self.succeed("bench", MODEL, "--device", "cpu", "--repeat", 1, "--no-records", "--json"))["kernels"]
        listed = json.loads(self.succeed("explain", MODEL, "--device", "cpu", "--json"))["kernels"]
        self.assertEqual([(row["number"], row["origin"]) for row in rows], [(row["number"], row["origin"]) for row in listed])
        target = json.loads(self.succeed("explain", MODEL, "--target", "cpu_avx2", "--json"))["kernels"]
        group = ("opt", "--from=onnx", "--to=group", MODEL, "--kernel")
        gemm = next(row for row in target if row["origin"].startswith("Gemm"))
        self.assertEqual(self.succeed(*group, gemm["number"]), self.succeed(*group, gemm["origin"]))
        self.refuse(*group, len(target), says=[f"need 0 to {len(target) - 1}"])

    def test_f10_f11_nothing_is_ignored(self):
        self.refuse("opt", "--from=onnx", "--to=schedule", MODEL, "--kernel", 999, says=["there is no kernel 999"])
        self.refuse("opt", "--from=onnx", "--to=program", MODEL, "--kernel", 1, says=["level 'program' has no kernels"])
        self.refuse("run", MODEL, "--image", IMAGE, "--calibrate", IMAGE, says=["--calibrate is for --precision int8"])
        self.refuse("bench", MODEL, "--percentile", 99, says=["--percentile is for --precision int8"])
        self.refuse("bench", MODEL, "--preset", "imagenet-torch", says=["--preset is for pictures"])
        np.save(self.folder / "x.npy", np.zeros((1, 3, 32, 32), np.float32))
        self.refuse("run", MODEL, "--input", self.folder / "x.npy", "--crop", 8, says=["--crop is for pictures"])
        self.refuse("explain", MODEL, "--tensor", "X=f32[1]", says=["are for Tile files"])

    def test_f13_progress_stays_on_its_line(self):
        self.need_device("cpu")
        text = self.on_terminal("tune", MODEL, "--device", "cpu", "--budget", "1s", "--records", self.folder / "r", columns=60)
        shown = [part for line in text.split("\n") for part in line.split("\r") if part.startswith("\x1b[Ktuning")]
        self.assertTrue(shown)
        self.assertLessEqual(max(len(part) - 3 for part in shown), 59)

    def test_f14_doctor_has_a_verdict(self):
        self.need_device("cpu")
        text = self.succeed("doctor", "--device", "cpu", "--seconds", 0, "--reproducers", self.folder)
        self.assertRegex(text, r"(?m)^verdict  OK: every kernel agrees with the reference")
        self.assertNotIn("the device's row says", text)

    def test_calibration_keeps_a_row_that_is_used(self):
        for device in ("cpu", "opencl"):
            self.need_device(device)
            rows = {"TILEFUSE_DEVICES": str(self.folder / device)}
            text = self.succeed("doctor", "--device", device, "--calibrate", environment=rows)
            self.assertRegex(text, r"(?m)^measured +gbytes_per_s [\d.]+, stated")
            row = next((self.folder / device).glob("*_measured_*.toml"))
            self.assertIn("measured_on = ", row.read_text())
            self.succeed("opt", "--from=onnx", "--to=schedule", MODEL, "--target", row.stem, "--kernel", 0, environment=rows)
            again = self.succeed("doctor", "--device", device, "--calibrate", "--row", self.folder / "again.toml", environment=rows)
            stated = re.search(r"(?m)^measured +launch_us [\d.e+-]+, stated ([\d.e+-]+)", again).group(1)
            self.assertEqual(re.search(r"(?m)^measured +launch_us ([\d.e+-]+),", text).group(1), stated)
            row.write_text("name = 'x'\n")
            done = self.tool("doctor", "--device", device, "--seconds", 0, environment=rows)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{row.name}:1:1: error: key 'backend' is missing", done.stderr)

    def test_pictures_that_go_in_as_they_are(self):
        self.need_device("cpu")
        copy = self.folder / "copy.onnx"
        shutil.copy(MODEL, copy)
        done = self.tool("run", copy, "--device", "cpu", "--image", IMAGE)
        self.assertIn("nothing says how the model wants them", done.stderr)
        done = self.tool("run", MODEL, "--device", "cpu", "--image", IMAGE)
        self.assertEqual(done.stderr, "")

    def test_tile_files_run_and_are_timed(self):
        self.need_device("cpu")
        tile = self.folder / "scale.tile"
        tile.write_text(SCALE)
        np.save(self.folder / "x.npy", np.arange(4, dtype=np.float32))
        out = self.folder / "y.npy"
        self.succeed("run", tile, "--attr", "F=3", "--device", "cpu", "--input", f"X={self.folder / 'x.npy'}", "--output", out)
        np.testing.assert_array_equal(np.load(out), [0, 3, 6, 9])
        self.assertIn("median", self.succeed("bench", tile, "--attr", "F=3", "--tensor", "X=f32[100]", "--device", "cpu",
                                             "--repeat", 1))
        self.succeed("simulate", *GELU, "--function", "gelu", "--fuse", "all")

    def test_a_folder_of_pictures(self):
        self.need_device("cpu")
        rows = json.loads(self.succeed("run", MODEL, "--device", "cpu", "--image", GLYPHS / "images", "--top", 1, "--json"))["classes"]
        files = sorted(str(path) for path in (GLYPHS / "images").glob("*.png"))
        self.assertEqual([row["input"] for row in rows], files)
        table = self.succeed("run", MODEL, "--device", "cpu", "--image", GLYPHS / "images", "--top", 1, "--csv", "-")
        self.assertEqual(len(table.splitlines()), len(files) + 1)


class Terminal(OnTerminal):
    def check_width(self, text, columns, what):
        for line in text.splitlines():
            self.assertLessEqual(len(line), columns, f"{what}: {line}")

    def test_help_fits(self):
        for columns in (80, 120):
            for verb in VERBS:
                text = self.succeed(verb, "--help", environment={"COLUMNS": str(columns)})
                self.check_width(text, columns, verb)
            self.check_width(self.succeed("--help", environment={"COLUMNS": str(columns)}), columns, "--help")

    def test_tables_fit(self):
        self.need_device("cpu")
        for columns in (80, 120):
            for verb in (("bench", MODEL, "--repeat", 1, "--device", "cpu"), ("explain", MODEL), ("devices",), ("operators",),
                         ("fusion", MODEL),
                         ("run", MODEL, "--image", IMAGE, "--verbose", "--device", "cpu"), ("fusion", MODEL, "--decisions"),
                         ("verify", MODEL, "--samples", 1, "--device", "cpu"),
                         ("train", GLYPHS / "recipe.toml", "--dry-run", "--device", "cpu")):
                text = self.succeed(*verb, environment={"COLUMNS": str(columns)})
                self.check_width(text, columns, verb)
        self.assertGreater(max(map(len, self.succeed("bench", MODEL, "--repeat", 1, "--device", "cpu", "--wide",
                                                     environment={"COLUMNS": "80"}).splitlines())), 80)

    def test_long_names_fit(self):
        """Tables, and the lines above a kernel's texts, of a model whose nodes and file have names of 90 letters; prose keeps a word
        whole, so that it can be copied."""
        self.need_device("cpu")
        long = "a_name_that_says_everything_" * 3 + "again"
        names = ["x", *(f"{long}_{k}" for k in range(3))]
        model = self.folder / f"{long}.onnx"
        model.write_bytes(onnx_model([node("Softmax", [names[k]], [names[k + 1]], name=names[k + 1]) for k in range(3)],
                                     [value_info("x", [1, 64])], [value_info(names[-1], [1, 64])]))
        for columns in (80, 120):
            width = {"COLUMNS": str(columns)}
            for verb in (("bench", model, "--repeat", 1, "--device", "cpu"), ("fusion", model),
                         ("explain", model), ("verify", model, "--samples", 1, "--device", "cpu")):
                self.check_width(self.succeed(*verb, environment=width), columns, verb)
            verdict = self.succeed("explain", model, "--kernel", 1, "--device", "cpu", environment=width).split("schedule:")[0]
            self.check_width(verdict, columns, "explain --kernel")

    def test_colours_where_a_terminal_has_them(self):
        self.need_device("cpu")
        bench = ("bench", MODEL, "--repeat", 1, "--device", "cpu")
        self.assertIn("\x1b[2m", self.on_terminal(*bench))
        self.assertNotIn("\x1b[2m", self.on_terminal(*bench, environment={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.succeed(*bench))

    def test_json_of_every_verb_that_reports(self):
        self.need_device("cpu")
        on_cpu = ("--device", "cpu")
        for verb in (("run", MODEL, "--image", IMAGE, *on_cpu), ("bench", MODEL, "--repeat", 1, *on_cpu), ("devices",), ("operators",),
                     ("fusion", MODEL), ("explain", MODEL, *on_cpu), ("explain", MODEL, "--kernel", 0, *on_cpu),
                     ("verify", MODEL, "--samples", 1, *on_cpu), ("simulate", *GELU, "--function", "relu"),
                     ("tune", MODEL, "--budget", "0.1s", "--kernel", 0, "--records", self.folder / "r", *on_cpu)):
            self.assertIsInstance(json.loads(self.succeed(*verb, "--json")), dict, verb)

    def test_did_you_mean(self):
        self.refuse("rnu", MODEL, says=["there is no verb 'rnu'; did you mean 'run'?"])
        self.refuse("run", MODEL, "--imgae", IMAGE, says=["run has no option --imgae; did you mean '--image'?"])
        self.refuse("verify", MODEL, "--images", IMAGE, says=["verify has no option --images"])
        self.refuse("verify", MODEL, "--profile", IMAGE, says=["--profile is an option of bench"])
        self.refuse("bench", MODEL, "--precision", "int9", says=["'int9' is none of", "did you mean 'int8'?"])
        self.refuse("explain", MODEL, "--kernel", "convolution_1", says=["no kernel holds a node"])
        self.refuse("opt", "--from=onnx", "--to=group", MODEL, "--target", "cpu_axv2", says=["did you mean 'cpu_avx2'?"])
        self.refuse("fmt", "--chek", says=["did you mean '--check'?"])

    def test_slower_precision_is_said(self):
        """A CPU computes halves in f32: converting them makes CIFAR ResNet-20 slower, measured 1.03 to 1.2 times."""
        self.need_device("cpu")
        self.need_data()
        model = DATA / "models" / "cifar_resnet20" / "model.onnx"
        for precision, is_said in (("f16", True), ("f32", False)):
            words = ("--precision", precision) if is_said else ()
            done = self.tool("bench", model, "--batch", 8, "--device", "cpu", "--repeat", 1, "--no-records", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(bool(re.search(r"precision f16 is predicted to be 1\.[12]x slower than f32 on this device: [\d.]+ ms, not [\d.]+",
                                            done.stderr)), is_said, done.stderr)

    def test_aliases_of_precision(self):
        text = self.succeed("explain", MODEL, "--kernel", 0, "--target", "cpu_avx2", "--precision", "fp16")
        self.assertEqual(text, self.succeed("explain", MODEL, "--kernel", 0, "--target", "cpu_avx2", "--precision", "f16"))

    def test_exit_codes(self):
        self.assertEqual(self.tool("run").returncode, 2)
        self.assertEqual(self.tool("run", MODEL, "--image", IMAGE, "--device", "opencl:77").returncode, 4)
        case = self.folder / "wrong.kernel"
        case.write_text("kernel k blocks 1 block_size 1 {\n  global y f32[1]\n  local s f32[1]\n  y[0] = s[0]\n}\n")
        self.assertEqual(self.tool("simulate", "--from=kernel", case).returncode, 3)
        self.assertEqual(self.tool("simulate", "--from=kernel", case, "--blocks", 4).returncode, 2)

    def test_version(self):
        text = self.succeed("--version")
        self.assertRegex(text, r"^tilefuse \d+\.\d+\.\d+ \(commit .+, code [0-9a-f]{12}\)\n")
        self.assertRegex(text, r"(?m)^cpu ")

    def test_help_and_man(self):
        self.assertEqual(self.succeed("help", "run"), self.succeed("run", "--help"))
        self.refuse("help", "rnu", says=["did you mean 'run'?"])
        self.succeed("man", "--all", self.folder)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         sorted(["tilefuse.1"] + [f"tilefuse-{verb}.1" for verb in VERBS]))
        self.assertIn("\\-\\-image", (self.folder / "tilefuse-run.1").read_text())

    def test_completion(self):
        script = self.folder / "complete.bash"
        script.write_text(self.succeed("completion", "bash"))

        def complete(*words):
            line = (f'source {script}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _tilefuse; '
                    'echo "${COMPREPLY[*]}"')
            return subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, text=True, check=True).stdout.split()

        self.assertEqual(complete("tilefuse", "ben"), ["bench"])
        self.assertEqual(complete("tilefuse", "run", "m.onnx", "--imag"), ["--image"])
        self.assertEqual(complete("tilefuse", "run", "--precision", "b"), ["bf16"])
        self.assertIn("complete -c tilefuse", self.succeed("completion", "fish"))
        self.assertIn("#compdef tilefuse", self.succeed("completion", "zsh"))
        self.refuse("completion", "tcsh")


class OfTheData(ToolTest):
    def test_f1_a_kernel_of_yolox(self):
        self.need_data()
        model = DATA / "models" / "yolox_nano" / "model.onnx"
        if not model.exists():
            self.skipTest(f"{model} is missing")
        text = self.succeed("simulate", "--from=onnx", model, "--kernel", 100, "--blocks", 0)
        self.assertIn("elements equal the evaluator's", text)


if __name__ == "__main__":
    main()
