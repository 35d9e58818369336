#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`tilefuse tune` as users start it, and what machines do to it: kill -9, two at once, damaged and unwritable records."""
import json
import os
import random
import resource
import signal
import subprocess
import time

from support import GLYPHS, TOOL, ToolTest, main

MODEL = GLYPHS / "model.onnx"


class Tune(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        self.records = self.folder / "records.sqlite"

    def tune(self, *arguments, budget="1s", records=None):
        return self.succeed("tune", MODEL, "--device", "cpu", "--budget", budget, "--records", records or self.records,
                            *arguments)

    def exported(self, records=None):
        file = self.folder / "out.jsonl"
        self.succeed("tune", "--export", file, "--records", records or self.records)
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def chosen(self, *arguments):
        """Who chose the schedule, by kernel."""
        table = self.succeed("bench", MODEL, "--device", "cpu", "--repeat", 1, "--csv", "-", *arguments)
        return [line.split(",")[7] for line in table.splitlines()[1:]]

    def test_bench_says_what_is_tuned(self):
        self.assertEqual(set(self.chosen("--records", self.records)), {"model"})
        self.assertFalse(self.records.exists())
        out = self.tune("--kernel", 4, "--csv", self.folder / "tuned.csv")
        head, row = (self.folder / "tuned.csv").read_text().splitlines()
        alone = self.succeed("tune", MODEL, "--device", "cpu", "--records", self.records, "--budget", "1s", "--kernel", 4,
                             "--csv", "-")
        self.assertEqual(alone.splitlines()[0], head)
        self.assertEqual(head.split(",")[:6], ["#", "launches", "model us", "best us", "model/best", "tried"])
        self.assertEqual(row.split(",")[:2], ["4", "1"])
        self.assertRegex(out, r"tuned +1 kernels in [0-9]\.\d s, \d+ schedules tried")
        self.assertRegex(out, r"the cost model's choices reach \d+% of the best known")
        chosen = self.chosen("--records", self.records)
        self.assertEqual([k for k, by in enumerate(chosen) if by == "tuned on this device"], [4])
        self.assertEqual(set(self.chosen("--records", self.records, "--no-cache")), set(chosen))
        self.assertEqual(set(self.chosen("--no-records")), {"model"})
        image = GLYPHS / "images" / "01.png"
        self.assertRegex(self.succeed("run", MODEL, "--image", image, "--device", "cpu", "--records", self.records),
                         r"kernels +\d+ per run, 1 tuned, compiled")
        self.assertNotIn("tuned", self.succeed("run", MODEL, "--image", image, "--device", "cpu", "--no-records"))
        for number, by in ((4, "tuned on this device"), (1, "model")):
            told = self.succeed("explain", MODEL, "--layer", number, "--device", "cpu", "--records", self.records)
            self.assertIn(f"\nschedule: {by}\nschedule nest vector\n", told)
            self.assertEqual("\ntuned     " in told, number == 4, told)
            page = self.folder / "kernel.html"
            self.succeed("explain", MODEL, "--kernel", number, "--device", "cpu", "--records", self.records, "--html", page)
            for says in ("Tuning measured ", "tuned, measured then", "model&#39;s choice, measured then", "chosen, measured"):
                self.assertEqual(says in page.read_text(), number == 4 or says == "chosen, measured", says)
        answer = self.succeed("verify", MODEL, "--device", "cpu", "--records", self.records)
        self.assertIn("agree with the reference", answer)

    def test_records_travel(self):
        self.tune("--kernel", 0)
        rows = self.exported()
        self.assertEqual(len(rows), 1)
        self.assertTrue(rows[0]["verified"])
        other = self.folder / "other.sqlite"
        file = self.folder / "out.jsonl"
        for _ in range(2):
            self.succeed("tune", "--import", file, "--records", other)
            self.assertEqual(self.exported(other), rows)
        faster = dict(rows[0], seconds=rows[0]["seconds"] / 2, date="later")
        slower = dict(rows[0], seconds=rows[0]["seconds"] * 2)
        unverified = dict(faster, verified=False, seconds=1e-9)
        elsewhere = dict(rows[0], device="0" * 32, device_name="Elsewhere")
        file.write_text("".join(json.dumps(row) + "\n" for row in (slower, unverified, faster, elsewhere)))
        self.succeed("tune", "--import", file, "--records", other)
        self.assertEqual(sorted(self.exported(other), key=str), sorted([faster, elsewhere], key=str))
        file.write_text(json.dumps(elsewhere) + "\n")
        third = self.folder / "third.sqlite"
        self.succeed("tune", "--import", file, "--records", third)
        self.assertEqual(self.chosen("--records", third)[0], "model; starting point from Elsewhere")

    def test_mistakes(self):
        bad = self.folder / "bad.jsonl"
        bad.write_text('{"format":"tilefuse-record-1"}\n')
        done = self.tool("tune", "--import", bad, "--records", self.records)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{bad}:1:", done.stderr)
        self.refuse("tune", "--records", self.records, says=["nothing to do"])
        self.refuse("tune", MODEL, "--budget", "soon", "--records", self.records, says=["'soon' is not a time"])
        self.refuse("tune", MODEL, "--kernel", 99, "--records", self.records, says=["no kernel 99"])

    def test_killed_and_taken_up(self):
        draw = random.Random(1)
        before = []
        for _ in range(8):
            child = self.start()
            time.sleep(0.2 + draw.random())
            child.send_signal(signal.SIGKILL)
            child.communicate()
            rows = self.exported()
            keys = {row["group"] for row in rows}
            self.assertLessEqual({row["group"] for row in before}, keys)
            before = rows
        self.assertGreater(len(before), 0)
        self.tune(budget="2s")
        self.assertIn("tuned on this device", self.chosen("--records", self.records))
        self.succeed("verify", MODEL, "--device", "cpu", "--records", self.records)

    def start(self):
        environment = dict(os.environ, TILEFUSE_CACHE=str(self.cache))
        return subprocess.Popen([str(TOOL), "tune", str(MODEL), "--device", "cpu", "--budget", "5s", "--records",
                                 str(self.records)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_two_at_once(self):
        both = [self.start(), self.start()]
        for child in both:
            out, err = child.communicate(timeout=120)
            self.assertEqual((child.returncode, err), (0, b""), out)
        rows = self.exported()
        self.assertGreater(len(rows), 0)
        self.assertEqual(len({row["group"] for row in rows}), len(rows))
        self.succeed("verify", MODEL, "--device", "cpu", "--records", self.records)

    def test_damaged_and_unwritable(self):
        self.records.write_bytes(b"no database at all " * 400)
        done = self.tool("tune", MODEL, "--device", "cpu", "--budget", "1s", "--records", self.records)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
        self.assertGreater(len(self.exported()), 0)
        done = self.tool("tune", MODEL, "--device", "cpu", "--budget", "1s", "--records", "/proc/none/r.sqlite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
        self.assertIn("not recorded", done.stdout)

    def test_full_disk(self):
        """Files cannot grow past a size: it is said, what was kept is right, and the next run goes on."""
        def no_growth():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))
        done = self.tool("tune", MODEL, "--device", "cpu", "--budget", "8s", "--records", self.records, "--no-cache",
                         preexec_fn=no_growth)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
        kept = {row["group"] for row in self.exported()}
        self.tune()
        self.assertLessEqual(kept, {row["group"] for row in self.exported()})
        self.succeed("verify", MODEL, "--device", "cpu", "--records", self.records)


if __name__ == "__main__":
    main()
