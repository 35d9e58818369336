#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that data flows one way: a folder of src/ includes only folders above it (ARCHITECTURE.md), and rooms,
which are x.h with x.cpp, never include each other in a circle.

    layers.py ROOT          prints a line per include that runs against the flow, and per circle; exit code 1 if any
    layers.py --self-test   the check finds the mistakes it is meant to find
"""
import pathlib
import re
import sys
import tempfile

ORDER = ["base", "target", "package", "program", "data", "tile", "nest", "onnx", "poly", "schedule", "cost", "kernel",
         "launch", "lower", "emit", "runtime", "search", "model", "train", "report", "api", "ort"]
# What these may include; the others: all above. ort is a client of the C interface, and of nothing else.
MAY = {"data": ["base", "target", "program"], "runtime": ["base", "target", "package"], "ort": []}
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
    if other not in MAY.get(folder, ORDER):
        return f"includes {other}/; {folder}/ may include only {', '.join(MAY[folder]) or 'include/tilefuse'}"
    if ORDER.index(other) > ORDER.index(folder):
        return f"includes {other}/, which stands below {folder}/"
    return None


def rooms(source):
    """The rooms of src/ by name, "lower/simt/stage", each with those that it includes."""
    files = [path for path in sorted(source.rglob("*")) if path.suffix in (".h", ".cpp")]
    headers = {str(path.relative_to(source)) for path in files if path.suffix == ".h"}
    graph = {}
    for path in files:
        room = str(path.relative_to(source).with_suffix(""))
        others = graph.setdefault(room, set())
        for line in path.read_text(encoding="utf-8").splitlines():
            match = QUOTED.match(line)
            if match and match.group(1) in headers and match.group(1) != room + ".h":
                others.add(match.group(1).removesuffix(".h"))
    return graph


def reachable(graph, room):
    """The rooms that a room includes, and those that they include, and so on."""
    seen, todo = set(), [room]
    while todo:
        for other in graph.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(graph):
    """Sorted lists of rooms that include each other, straight or by way of others."""
    reach = {room: reachable(graph, room) for room in graph}
    found = {tuple(sorted(other for other in reach[room] if room in reach[other])) for room in graph if room in reach[room]}
    return sorted(found)


def mistakes(root):
    """Lines 'src/x/y.h:3: …' for every wrong include, for every folder that the order does not name, for every circle."""
    found = [f"src/{circle[0]}: stands in a circle of rooms: {', '.join(circle)}" for circle in circles(rooms(root / "src"))]
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
             "src/data/h.h": '#include "package/package.h"',
             "src/nest/c.cpp": "#include <isl/set.h>", "src/lower/d.cpp": '#include "../base/error.h"',
             "src/extra/e.h": "", "src/ort/o.cpp": '#include "base/error.h"', "src/nest/x.h": '#include "nest/in/y.h"', "src/nest/in/y.cpp": '#include "nest/x.h"',
             "src/nest/in/y.h": ""}
    right = {"src/poly/f.cpp": '#include <isl/set.h>\n#include "nest/nest.h"\n#include "poly/group.h"',
             "src/runtime/g.cpp": '#include "package/package.h"', "src/nest/z.cpp": '#include "nest/x.h"'}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**wrong, **right}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        places = {line.split(":")[0] for line in mistakes(root)}
    need = {"src/base/a.h", "src/runtime/b.cpp", "src/data/h.h", "src/nest/c.cpp", "src/lower/d.cpp", "src/extra/e.h", "src/nest/in/y",
            "src/ort/o.cpp"}
    if places != need:
        print(f"self-test: found {sorted(places)}, need {sorted(need)}")
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
