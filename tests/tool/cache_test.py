#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel cache and the tuning records of a user: held by others, with rows in wrong places, writable by others."""
import os
import sqlite3
import time

from support import GLYPHS, ToolTest, best_labels, main

MODEL = GLYPHS / "model.onnx"
IMAGE = GLYPHS / "images" / "01.png"


class Stores(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        self.mine = self.folder / "deep" / "kernels.sqlite"

    def classify(self, cache=None):
        """The best class, and what was said beside the result."""
        done = self.tool("run", MODEL, "--device", "cpu", "--image", IMAGE, cache=cache or self.mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(best_labels(done.stdout)), 1, done.stdout)
        return best_labels(done.stdout)[0], done.stderr.splitlines()

    def hold(self, path):
        """A connection that keeps writers out until it is closed."""
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        return other

    def test_rows_in_wrong_places_are_built_anew(self):
        label, said = self.classify()
        self.assertEqual(said, [])
        change = sqlite3.connect(self.mine)
        rows = change.execute("SELECT rowid, bytes, code FROM kernels ORDER BY rowid").fetchall()
        self.assertGreater(len(rows), 2)
        for row, (_, contents, code) in zip(rows, rows[1:] + rows[:1]):
            change.execute("UPDATE kernels SET bytes = ?, code = ? WHERE rowid = ?", (contents, code, row[0]))
        change.commit()
        change.close()
        again, said = self.classify()
        self.assertEqual(again, label)
        self.assertEqual(len(said), 1, said)
        self.assertIn("is damaged (a kernel is not what was written under its key)", said[0])
        self.assertEqual(self.classify(), (label, []))

    def test_held_by_another_process(self):
        self.classify()
        records = self.folder / "records.sqlite"
        self.succeed("tune", MODEL, "--device", "cpu", "--budget", "0.1s", "--kernel", 0, "--records", records, cache=self.mine)
        begin = time.monotonic()
        tune = ("tune", MODEL, "--device", "cpu", "--budget", "1s", "--kernel", 4, "--records", records)
        self.succeed(*tune, cache=self.mine)
        alone = time.monotonic() - begin
        other = self.hold(records)
        begin = time.monotonic()
        done = self.tool(*tune, cache=self.mine)
        self.assertLess(time.monotonic() - begin, 2 * alone + 4)
        other.close()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(f"another process holds the store of tuning records {records}; until it lets go, nothing new is kept",
                      done.stderr)

    def test_what_others_may_write(self):
        label, _ = self.classify()
        for place, mode, used in ((self.mine, 0o666, False), (self.mine, 0o644, True), (self.mine.parent, 0o1777, False),
                                  (self.mine.parent, 0o755, True)):
            place.chmod(mode)
            again, said = self.classify()
            self.assertEqual(again, label)
            self.assertEqual(len(said), 0 if used else 1, said)
            if not used:
                self.assertIn(f"{place} can be written by others than its owner (mode {mode:04o})", said[0])
                self.assertIn("kernels are compiled anew", said[0])

    def test_what_another_user_owns(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        label, _ = self.classify()
        os.chown(self.mine, 65534, 65534)
        again, said = self.classify()
        self.assertEqual(again, label)
        self.assertEqual(len(said), 1, said)
        self.assertIn("belongs to another user", said[0])

    def test_no_regular_file(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        _, said = self.classify(cache=fifo)
        self.assertEqual(len(said), 1, said)
        self.assertIn("not a regular file", said[0])
        self.assertTrue(fifo.is_fifo())


if __name__ == "__main__":
    main()
