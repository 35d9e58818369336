# SPDX-License-Identifier: Apache-2.0
"""Training by several processes: the same bits for any number of workers, and an end that is said when one is lost.

    workers_test.py          processes that the program starts itself
    workers_test.py --mpi    the same by mpirun, where it and the module for MPI are there

TILEFUSE_KILL_ROUNDS says how often a worker of a run is killed at a random time, three times where it is not set, and
TILEFUSE_SEED by which seed.
"""
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import numpy as np

import support
from support import DATA, TOOL, ToolTest, float_tensor, mnist_recipe, node, onnx_model, value_info

BY_MPI = "--mpi" in sys.argv
KILLS = int(os.environ.get("TILEFUSE_KILL_ROUNDS", "3"))
LOST = 4  # exit code of who has lost another worker
STEP = re.compile(r"step-\d+\.safetensors")


def mpirun(count):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(count)]


class Workers(ToolTest):
    def setUp(self):
        super().setUp()
        self.need_data()
        self.need_device("cpu")
        if BY_MPI and (shutil.which("mpirun") is None or not (TOOL.parents[1] / "lib/tilefuse/tilefuse_mpi.so").exists()):
            self.skipTest("no mpirun, or built without MPI")
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(mnist_recipe("""[augment]
pad_crop = 2
[steps]
batch = 8
lanes = 4
limit = 6
[optimizer]
rate = 0.01
[keep]
log_steps = 2
"""))

    def command(self, count, out, *more):
        train = [str(TOOL), "train", str(self.recipe), "-o", str(out), "--device", "cpu", "--threads", "1", *more]
        if count == 1:
            return train
        return mpirun(count) + train if BY_MPI else [*train, "--workers", str(count)]

    def environment(self):
        return dict(os.environ, TILEFUSE_CACHE=str(self.cache))

    def train(self, count, out, *more):
        done = subprocess.run(self.command(count, out, *more), env=self.environment(), text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def newest(self, out):
        return sorted(path for path in out.iterdir() if STEP.fullmatch(path.name))[-1].read_bytes()

    def test_any_number_of_workers_gives_the_same_bits(self):
        texts = {count: self.train(count, self.folder / f"by{count}", "--set", "keep.check_steps=3") for count in (1, 2, 4)}
        self.assertIn("batch 8 in each of 4 lanes", texts[1])
        self.assertIn("by 4 workers, 1 each", texts[4])
        self.assertEqual(texts[4].count("done     6 steps"), 1)
        for count in (2, 4):
            self.assertEqual(self.newest(self.folder / "by1"), self.newest(self.folder / f"by{count}"), count)

    def test_parts_of_bf16_give_the_same_bits_too(self):
        for count in (1, 2, 4):
            self.train(count, self.folder / f"by{count}", "--set", "steps.parts=bf16")
        self.train(1, self.folder / "wide")
        one = self.newest(self.folder / "by1")
        self.assertNotEqual(elements(one), elements(self.newest(self.folder / "wide")))
        for count in (2, 4):
            self.assertEqual(one, self.newest(self.folder / f"by{count}"), count)

    def test_lanes_that_are_normalised_together_give_the_same_bits(self):
        synced = ("--set", "parameters.batch_norm=synced", "--set", "keep.check_steps=3")
        texts = {count: self.train(count, self.folder / f"by{count}", *synced) for count in (1, 2, 4)}
        self.assertIn("batch 8 in each of 4 lanes, normalised together", texts[1])
        for count in (2, 4):
            self.assertEqual(self.newest(self.folder / "by1"), self.newest(self.folder / f"by{count}"), count)

    def test_workers_may_be_more_or_fewer_when_a_run_goes_on(self):
        self.train(1, self.folder / "whole")
        parts = self.folder / "parts"
        self.train(2, parts, "--steps", "2")
        self.train(1, parts, "--steps", "4", "--resume")
        self.train(2, parts, "--steps", "6", "--resume")
        self.assertEqual(self.newest(self.folder / "whole"), self.newest(parts))

    def test_two_workers_are_one_of_twice_the_batch(self):
        """In small integers and without normalisations every order of sums gives the same bits."""
        source = np.random.default_rng(1)
        np.save(self.folder / "images.npy", source.integers(0, 4, (64, 2, 2, 1), np.uint8))
        np.save(self.folder / "labels.npy", source.integers(0, 4, 64).astype(np.int64))
        weights = float_tensor("w", (4, 4), [float(value) for value in source.integers(-2, 3, 16)])
        model = onnx_model([node("Flatten", ["x"], ["rows"]), node("MatMul", ["rows", "w"], ["products"]),
                            node("Add", ["products", "b"], ["y"])],
                           [value_info("x", (1, 1, 2, 2))], [value_info("y", (1, 4))],
                           [weights, float_tensor("b", (4,), [1.0, 0.0, -1.0, 2.0])])
        (self.folder / "model.onnx").write_bytes(model)
        self.recipe.write_text("""
model = "model.onnx"
[data]
train = "npy:images.npy,labels.npy"
mean = [0.0]
std = [0.00392156862745098]
[steps]
limit = 2
[optimizer]
rate = 0.125
momentum = 0.5
[loss]
kind = "mse"
""")
        self.train(1, self.folder / "one", "--batch", "4")
        self.train(2, self.folder / "two", "--batch", "2", "--set", "steps.lanes=2")
        one, two = (elements(self.newest(self.folder / name)) for name in ("one", "two"))
        self.assertEqual(one, two)
        changed = np.frombuffer(one, np.float32)
        self.assertTrue(np.all(changed * 2 ** 12 == np.round(changed * 2 ** 12)), "sums that were rounded prove nothing")

    def test_evaluation_is_shared(self):
        place = DATA / "datasets" / "mnist_t10k"
        test = ["--set", f"data.test=mnist:{place}/t10k-images-idx3-ubyte.gz,{place}/t10k-labels-idx1-ubyte.gz", "--batch", "64",
                "--steps", "2"]
        one = self.train(1, self.folder / "one", *test)
        two = self.train(2, self.folder / "two", *test)
        said = re.compile(r"before   test top-1 .*|\|  test [0-9.]+  loss [0-9.]+")
        self.assertEqual(said.findall(one), said.findall(two))
        self.assertEqual(len(said.findall(one)), 2)
        self.assertEqual(self.newest(self.folder / "one"), self.newest(self.folder / "two"))

    def start(self, out, *more):
        """Two workers at work, and their process ids by rank."""
        self.train(1, self.folder / "warm")  # compiled once
        command = self.command(2, out, "--steps", "100000", "--epochs", "10000", "--set", "keep.every_steps=1", *more)
        started = subprocess.Popen(command, env=self.environment(), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(started.kill)
        self.await_checkpoint(out, started)
        return started, workers_of(started.pid)

    def await_checkpoint(self, out, started):
        deadline = time.time() + 60
        while not out.exists() or not any(STEP.fullmatch(path.name) for path in out.iterdir()):
            self.assertLess(time.time(), deadline, "no checkpoint")
            self.assertIsNone(started.poll(), "ended")
            time.sleep(0.05)

    def check_loss(self, action, says):
        started, ranks = self.start(self.folder / "run")
        os.kill(ranks[1], action)
        begin = time.time()
        try:
            _, err = started.communicate(timeout=60)
        finally:
            if action == signal.SIGSTOP:
                for pid in ranks.values():
                    kill(pid)
        self.assertRegex(err, r"rank 1 \(\S+, cpu\) " + says + r" at step \d+; newest checkpoint: step \d+")
        self.assertNotEqual(started.returncode, 0)
        return time.time() - begin

    def test_a_worker_that_is_killed_is_named(self):
        self.assertLess(self.check_loss(signal.SIGKILL, "ended"), 5)

    @unittest.skipIf(BY_MPI, "mpirun says it itself")
    def test_a_worker_that_is_killed_before_it_has_met_the_others_is_named(self):
        started = subprocess.Popen(self.command(2, self.folder / "run"), env=self.environment(), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(started.kill)
        while len(workers_of(started.pid)) < 2:
            self.assertIsNone(started.poll(), "ended")
        kill(workers_of(started.pid)[1])
        begin = time.time()
        _, err = started.communicate(timeout=60)
        self.assertLess(time.time() - begin, 5)
        self.assertRegex(err, "rank 1 (was ended by signal 9, before the workers had met|.* ended at step)")
        self.assertEqual(started.returncode, LOST)

    def test_workers_are_killed_at_any_time(self):
        """Each time the others end at once, and the run goes on from the newest checkpoint, until it is through."""
        source = random.Random(os.environ.get("TILEFUSE_SEED", "1"))
        self.train(1, self.folder / "whole", "--steps", "40")
        out = self.folder / "run"
        longest, killed, through = 0, 0, 0
        while killed < KILLS or through == 0:
            more = ["--resume"] if out.exists() and any(STEP.fullmatch(path.name) for path in out.iterdir()) else []
            started = subprocess.Popen(self.command(2, out, "--steps", "40", "--set", "keep.every_steps=1", *more),
                                       env=self.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(started.kill)
            time.sleep(source.uniform(0.2, 1.2))
            ranks = workers_of(started.pid)
            if killed < KILLS and len(ranks) == 2:
                kill(ranks[source.randrange(2)])
                killed += 1
            begin = time.time()
            _, err = started.communicate(timeout=60)
            longest = max(longest, time.time() - begin) if started.returncode else longest
            if started.returncode == 0:
                self.assertEqual(elements(self.newest(self.folder / "whole")), elements(self.newest(out)))
                shutil.rmtree(out)
                through += 1
            elif "ended at step" not in err:  # before they had met, or behind the last step
                self.assertRegex(err, "rank|signal|mpirun|connection|listens")
        self.assertLess(longest, 5)
        print(f"{killed} kills, {through} runs through, the others ended within {longest:.1f} s")

    def test_a_worker_that_is_stopped_is_named(self):
        self.assertLess(self.check_loss(signal.SIGSTOP, "does not answer, last"), 5)

    @unittest.skipIf(BY_MPI, "mpirun does not start again")
    def test_a_run_starts_again_with_those_that_are_left(self):
        out = self.folder / "run"
        started, ranks = self.start(out, "--restarts", "1")
        os.kill(ranks[1], signal.SIGKILL)
        deadline = time.time() + 30
        while not workers_of(started.pid) or ranks[0] in workers_of(started.pid).values():
            self.assertLess(time.time(), deadline)
            time.sleep(0.05)
        time.sleep(1)
        started.send_signal(signal.SIGTERM)
        text, err = started.communicate(timeout=60)
        self.assertIn("starts again with 1 of 2 workers, from the newest checkpoint", err)
        self.assertRegex(text, r"resume   step \d+")
        self.assertEqual(started.returncode, 0, err)

    @unittest.skipIf(BY_MPI, "mpirun ends its processes itself")
    def test_one_that_is_asked_ends_them_all(self):
        started, _ = self.start(self.folder / "run")
        started.send_signal(signal.SIGTERM)
        text, err = started.communicate(timeout=60)
        self.assertRegex(text, r"stopped  behind step \d+: --resume goes on")
        self.assertEqual(started.returncode, 0, err)

    def worker(self, rank, port, *more, token="t", address="127.0.0.1", within=()):
        variables = dict(self.environment(), RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_ADDR=address,
                         MASTER_PORT=str(port), TILEFUSE_TOKEN=token)
        return subprocess.Popen([*within, *self.command(1, self.folder / "run", *more)], env=variables, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def refused(self, started, says):
        _, err = started.communicate(timeout=60)
        self.assertIn(says, err)
        self.assertIn(started.returncode, (2, LOST))
        return err

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_who_does_not_fit_together_is_told_before_the_first_step(self):
        port = free_port()
        first, other = self.worker(0, port), self.worker(1, port, "--rate", "0.5")
        for each in (first, other):
            self.assertIn("recipe", self.refused(each, "rank 1"))

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_who_does_not_come_is_named(self):
        port = free_port()
        self.refused(self.worker(0, port, "--timeout", "1"), f"of 2 workers, rank 1 did not come to 127.0.0.1:{port}")
        self.refused(self.worker(1, port, "--timeout", "1"), f"nobody listens at 127.0.0.1:{port} within 1 s")
        first, other = self.worker(0, port, "--timeout", "2"), self.worker(1, port, "--timeout", "2", token="wrong")
        self.refused(first, "rank 1 did not come")
        self.refused(other, "a worker has closed its connection")

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_one_that_starts_late_is_waited_for(self):
        port = free_port()
        first = self.worker(0, port, "--timeout", "30")
        time.sleep(3)
        other = self.worker(1, port, "--timeout", "30")
        for each in (first, other):
            _, err = each.communicate(timeout=60)
            self.assertEqual(each.returncode, 0, err)

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_a_wrong_address_is_said(self):
        port, nowhere = free_port(), "192.0.2.1"  # of documentation (RFC 5737), nobody's
        self.refused(self.worker(0, port, address=nowhere), f"cannot listen at {nowhere}:{port}: Cannot assign requested address")
        begin = time.time()
        self.refused(self.worker(1, port, "--timeout", "2", address=nowhere), f"nobody listens at {nowhere}:{port} within 2 s")
        self.assertLess(time.time() - begin, 7)

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_a_link_that_goes_down_is_noticed(self):
        """Two workers in network spaces of their own, whose only link is taken down in mid-step."""
        names = [f"tilefuse{os.getpid()}{end}" for end in "ab"]
        if os.geteuid() != 0 or shutil.which("ip") is None or subprocess.run(
                ["ip", "netns", "add", names[0]], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("network spaces cannot be made here")
        self.addCleanup(subprocess.run, ["ip", "netns", "del", names[0]], check=False)
        ip(f"netns add {names[1]}")
        self.addCleanup(subprocess.run, ["ip", "netns", "del", names[1]], check=False)
        ip(f"link add link0 netns {names[0]} type veth peer name link1 netns {names[1]}")
        for end, name in enumerate(names):
            ip(f"-n {name} address add 198.18.0.{end + 1}/24 dev link{end}")
            ip(f"-n {name} link set link{end} up")
        self.train(1, self.folder / "warm")
        out = self.folder / "run"
        workers = [self.worker(rank, 29400, "--steps", "100000", "--epochs", "10000", "--set", "steps.lanes=2", "--set",
                               "keep.every_steps=1", address="198.18.0.1", within=["ip", "netns", "exec", name])
                   for rank, name in enumerate(names)]
        self.await_checkpoint(out, workers[0])
        begin = time.time()
        ip(f"-n {names[1]} link set link1 down")
        for rank, each in enumerate(workers):
            _, err = each.communicate(timeout=60)
            self.assertLess(time.time() - begin, 5)
            self.assertRegex(err, rf"rank {1 - rank} \(\S+, cpu\) does not answer, last at step \d+; newest checkpoint: step \d+")
            self.assertEqual(each.returncode, LOST)

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_a_port_in_use_is_said(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refused(self.worker(0, port), f"cannot listen at 127.0.0.1:{port}: Address already in use")

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_scaling_is_printed_on_paper(self):
        text = self.succeed("explain", self.recipe, "--device", "cpu", "--threads", "1", "--workers", "1024")
        rows = re.findall(r"^ +(\d+) +(\d+) +([0-9.]+) +([0-9.]+) +\d+ +([0-9.]+)$", text, re.MULTILINE)
        self.assertEqual([int(row[0]) for row in rows], [2 ** n for n in range(11)])
        self.assertEqual([int(row[1]) for row in rows], [8 * 2 ** n for n in range(11)])
        self.assertEqual(rows[0][2:4], ("0.00", "1.000"))
        self.assertIn("assumes", text)
        self.assertRegex(text, r"measured 2 H100 .* on paper 0\.9")

    @unittest.skipIf(BY_MPI, "the same without MPI")
    def test_workers_that_cannot_share_the_lanes(self):
        done = subprocess.run(self.command(1, self.folder / "run", "--workers", "3"), env=self.environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertIn("3 workers cannot share the 4 lanes of a step", done.stderr)
        self.assertNotEqual(done.returncode, 0)


def elements(safetensors):
    """What stands behind the header, which names the recipe."""
    return safetensors[8 + int.from_bytes(safetensors[:8], "little"):]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def workers_of(pid):
    """The workers that a process has started, by rank."""
    found = {}
    todo = children(pid)
    while todo:
        each = todo.pop()
        todo += children(each)
        try:
            variables = pathlib.Path(f"/proc/{each}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            name, _, value = variable.partition(b"=")
            if name in (b"RANK", b"OMPI_COMM_WORLD_RANK"):
                found[int(value)] = each
    return found


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--mpi"]
    support.main()
