#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source and every header of src/ and tools/ compiles by itself: precompiled headers hide what a file
forgets to include.

    self_contained.py --build FOLDER [--self-test] [PATTERN…]

Takes the commands of FOLDER/compile_commands.json without the precompiled headers and stops after the analysis of types.
A header is compiled with the command of a source beside it. PATTERNs are regular expressions of paths; none: all files.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tools", "tests")


def commands_of(build):
    """Path of each source of ours and the words that compile it."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS:
            commands[path] = plain(shlex.split(entry["command"]))
    return commands


def plain(words):
    """The words of a command without its output, its source and its precompiled headers."""
    kept = []
    skip = 0
    for position, word in enumerate(words):
        follower = words[position + 1] if position + 1 < len(words) else ""
        if skip:
            skip -= 1
        elif word in ("-o", "-c") or (word == "-include" and "cmake_pch" in follower):
            skip = 1
        elif word == "-Xclang" and ("pch" in follower or follower == "-include"):
            skip = 3 if follower.startswith("-include") else 1
        else:
            kept.append(word)
    return kept


def header_commands(commands):
    """Path of each header and the words of a source beside it, or of the nearest one above."""
    beside = {path.parent: words for path, words in commands.items()}
    found = {}
    for folder in ("src", "tools"):
        for header in (ROOT / folder).rglob("*.h"):
            near = next((beside[at] for at in header.parents if at in beside), None)
            near = near or next((words for at, words in beside.items() if header.parent in at.parents), None)
            if near:
                found[header] = near
    return found


def complaint(path, words, build):
    """What the compiler says of one file, or nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as wrapper:
        source = path
        if path.suffix == ".h":
            wrapper.write(f'#include "{path}"\n')
            wrapper.flush()
            source = wrapper.name
        done = subprocess.run([*words, "-fsyntax-only", str(source)], cwd=build, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout[:3000] if done.returncode else ""


def check(build, patterns):
    """How many files do not compile by themselves; each is printed with the first errors."""
    commands = commands_of(build)
    files = {**commands, **header_commands(commands)}
    files = {path: words for path, words in files.items()
             if not patterns or any(re.search(each, str(path.relative_to(ROOT))) for each in patterns)}
    if not files:
        print("no file matches")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        says = pool.map(lambda item: (item[0], complaint(*item, build)), files.items())
        bad = [(path, text) for path, text in says if text]
    for path, text in bad:
        print(f"{path.relative_to(ROOT)} does not compile by itself\n{text}")
    print(f"{len(files)} files, {len(bad)} do not compile by themselves")
    return len(bad)


def self_test():
    """A file that includes nothing is found, one that includes what it uses is not."""
    with tempfile.TemporaryDirectory() as folder:
        good, bad = pathlib.Path(folder, "good.h"), pathlib.Path(folder, "bad.h")
        good.write_text("#include <vector>\nstd::vector<int> numbers();\n")
        bad.write_text("std::vector<int> numbers();\n")
        words = plain(shlex.split("c++ -std=c++20 -Winvalid-pch -include a/cmake_pch.hxx -o x.o -c x.cpp"))
        assert words == ["c++", "-std=c++20", "-Winvalid-pch"], words
        assert not complaint(good, words, folder)
        assert complaint(bad, words, folder)
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    return self_test() if args.self_test else min(check(args.build.resolve(), args.patterns), 1)


if __name__ == "__main__":
    sys.exit(main())
