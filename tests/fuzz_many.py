#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random cases in the simulator by many processes: what one core is too slow for.

    tests/fuzz_many.py TEST_FUZZ OUT --seconds 480 --processes 14 --seed 1000 [--cases 1000] [--filter '*Simulated']

Each process runs the properties of test_fuzz (tests/fuzz/fuzz_test.cpp) with a seed of its own and so many cases of each, then
takes the next seed, until the time is over. OUT/seeds.csv has a line for every property of every seed, as it ends, OUT/SEED.txt the output of
one that failed. Prints how many draws of each property held, and how many cases were simulated in all: not every draw is one. Ends
with 3 where a property failed.
"""
import argparse
import collections
import concurrent.futures
import csv
import os
import pathlib
import re
import subprocess
import sys
import threading
import time


def run(options, seed):
    """How the program ended, the cases that it simulated, and for each property that ended whether it held and its seconds."""
    env = dict(os.environ, RC_PARAMS=f"max_success={options.cases} seed={seed} noshrink=1", GTEST_FILTER=options.filter)
    ended = subprocess.run([options.test, "--gtest_color=no"], env=env, capture_output=True, text=True, check=False)
    lines = re.findall(r"\[ +(OK|FAILED) +\] \w+\.(\w+) \((\d+) ms\)", ended.stdout)
    simulated = re.search(r"^(\d+) cases simulated", ended.stdout, re.MULTILINE)
    return ended, int(simulated[1]) if simulated else 0, [(name, word == "OK", int(ms) / 1000) for word, name, ms in lines]


def work(options, seeds, lock, end, rows, file):
    while time.monotonic() < end:
        with lock:
            seed = next(seeds)
        ended, simulated, properties = run(options, seed)
        if ended.returncode != 0:
            (options.out / f"{seed}.txt").write_text(ended.stdout + ended.stderr)
        found = [(seed, name, options.cases, "held" if held else "failed", seconds) for name, held, seconds in properties]
        found.append((seed, "simulated", simulated, "held" if ended.returncode == 0 else "failed", 0))
        with lock:
            rows += found
            csv.writer(file, lineterminator="\n").writerows(found)
            file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--filter", default="*Simulated")
    options = parser.parse_args()
    options.test = options.test.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    rows, lock, seeds = [], threading.Lock(), iter(range(options.seed, sys.maxsize))
    end = time.monotonic() + options.seconds
    with open(options.out / "seeds.csv", "w") as file, concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        file.write("seed,property,cases,result,seconds\n")
        for future in [pool.submit(work, options, seeds, lock, end, rows, file) for _ in range(options.processes)]:
            future.result()
    held = collections.Counter()
    for _, name, cases, result, _ in rows:
        held[name] += cases if result == "held" else 0
    for name, count in sorted(held.items()):
        print(f"{name:32} {count:9}")
    failed = sorted({row[0] for row in rows if row[3] == "failed"})
    print(f"seeds {options.seed} to {max((row[0] for row in rows), default=options.seed)}, {len(failed)} failed {failed or ''}")
    sys.exit(3 if failed else 0)


main()
