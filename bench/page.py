# SPDX-License-Identifier: Apache-2.0
"""What scripts that measure and pages that are written from figures share: tables in docs/measurements, and sections of the documents
that a script writes, each between two comments that name it.

A table is CSV. Lines that begin with # stand before the heading and say what was measured: the machine and `commit HASH`.
"""
import csv
import math
import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
MEASUREMENTS = DOCS / "measurements"


def write_section(page, script, text, heading=""):
    """Puts `text` in place of what bench/`script` wrote into docs/`page` before; a new section goes to the end, under `heading`."""
    path = DOCS / page
    begin, end = f"<!-- written by bench/{script} -->\n", f"<!-- end of bench/{script} -->\n"
    whole = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in whole:
        whole += f"{heading}{begin}{end}"
    before, rest = whole.split(begin)
    path.write_text(before + begin + text + end + rest.split(end)[1], encoding="utf-8")


def write_table(name, note, header, rows):
    """Writes docs/measurements/`name`, under a line that says what was measured."""
    with (MEASUREMENTS / name).open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {note}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def notes_of(path):
    """The text of the lines that begin with #."""
    return [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]


def read_table(name):
    """What docs/measurements/`name` says was measured, and its rows by the names of its heading."""
    path = MEASUREMENTS / name
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return "; ".join(notes_of(path)), list(csv.DictReader(lines))


def commit_of(path):
    """What stands behind `commit` in the lines that begin with #."""
    found = [match[1] for note in notes_of(path) if (match := re.match(r"commit (.*)", note))]
    return found[0] if found else "unknown"


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"
