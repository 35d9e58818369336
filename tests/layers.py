#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that data flows one way: a folder of src/ includes only folders above it (ARCHITECTURE.md).

    layers.py ROOT          prints one line per include that runs against the flow; exit code 1 when there is any
    layers.py --self-test   the check finds the mistakes it is meant to find
"""
import pathlib
import re
import sys
import tempfile

ORDER = ["base", "target", "package", "program", "tile", "onnx", "nest", "poly", "schedule", "cost", "kernel",
         "lower", "emit", "runtime", "search", "model", "report"]
RUNTIME_MAY = {"base", "target", "package", "runtime"}
QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
ISL = re.compile(r'^\s*#\s*include\s*[<"]isl/')


def complaint(folder, line):
    """What is wrong with one line of a file of src/folder, or None."""
    if ISL.match(line) and folder != "poly":
        return "includes isl, which only poly/ may"
    match = QUOTED.match(line)
    if not match:
        return None
    other = match.group(1).split("/")[0]
    if other == "..":
        return "includes by a relative path"
    if other not in ORDER or other == folder:
        return None
    if folder == "runtime" and other not in RUNTIME_MAY:
        return f"includes {other}/; runtime/ may include only base, target and package"
    if ORDER.index(other) > ORDER.index(folder):
        return f"includes {other}/, which stands below {folder}/"
    return None


def mistakes(root):
    """Lines 'src/x/y.h:3: …' for every wrong include, and for every folder that the order does not name."""
    found = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".in"):
            continue
        folder = path.relative_to(root / "src").parts[0]
        if folder not in ORDER:
            found.append(f"{path.relative_to(root)}: folder {folder}/ has no place in the order")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            what = complaint(folder, line)
            if what:
                found.append(f"{path.relative_to(root)}:{number}: {what}")
    return found


def self_test():
    wrong = {"src/base/a.h": '#include "program/program.h"', "src/runtime/b.cpp": '#include "program/expr.h"',
             "src/nest/c.cpp": "#include <isl/set.h>", "src/lower/d.cpp": '#include "../base/error.h"',
             "src/extra/e.h": ""}
    right = {"src/poly/f.cpp": '#include <isl/set.h>\n#include "nest/nest.h"\n#include "poly/group.h"',
             "src/runtime/g.cpp": '#include "package/package.h"'}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**wrong, **right}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        places = {line.split(":")[0] for line in mistakes(root)}
    if places != set(wrong):
        print(f"self-test: found {sorted(places)}, need {sorted(wrong)}")
        return 1
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0])
    if not (root / "src").is_dir():
        print(f"{root} has no src folder")
        return 1
    found = mistakes(root)
    print("\n".join(found) if found else "every include follows the order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
