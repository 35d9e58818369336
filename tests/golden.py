#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden files: each holds its own command and what its output must be.

    // RUN: tilefuse opt --from=tile --to=program %s --tensor "X=f32[4]"
    // CHECK: program
    // CHECK-NEXT: input %0

RUN lines are shell commands run in order with the program's folder first in PATH; %s is the file, %S its folder, %t a
name for a temporary file. `// EXIT: 2` says which exit code the last must have (0 when not said). Checked is what they
print on both streams:
  CHECK        this text stands somewhere after the last match        CHECK-NEXT   … on the very next line
  CHECK-NOT    this text does not stand before the next match         CHECK-LABEL  splits the output into parts first
Text is literal but for {{regular expressions}}; runs of blanks are equal. Where FILE.expected lies beside FILE, the
whole output must equal it; --update writes it anew.

    golden.py --tool PROGRAM [--update] FILE-OR-FOLDER…
    golden.py --self-test
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DIRECTIVE = re.compile(r"(?://|#)\s*(RUN|EXIT|CHECK(?:-NEXT|-NOT|-LABEL)?):\s?(.*)$")


def pattern(text):
    """A regular expression for the text of a check."""
    parts = re.split(r"(\{\{.*?\}\})", text.strip())
    made = [f"(?:{p[2:-2]})" if p.startswith("{{") else re.sub(r"(?:\\ )+", r"[ \\t]+", re.escape(p)) for p in parts]
    return re.compile("".join(made))


def find(regex, lines, begin, end):
    return next((i for i in range(begin, end) if regex.search(lines[i])), None)


def split_at_labels(checks, lines):
    """Parts (checks, first line, last line): each label and what follows it, up to the next label's line."""
    parts, begin = [([], 0)], 0
    for kind, text in checks:
        if kind == "CHECK-LABEL":
            at = find(pattern(text), lines, begin, len(lines))
            if at is None:
                raise LookupError(f"CHECK-LABEL: {text}\n  stands nowhere from line {begin + 1} of the output")
            parts.append(([], at + 1))
            begin = at + 1
        else:
            parts[-1][0].append((kind, text))
    ends = [begin for _, begin in parts[1:]] + [len(lines) + 1]
    return [(part, begin, min(end - 1, len(lines))) for (part, begin), end in zip(parts, ends)]


def refuse(forbidden, lines, begin, end):
    for text in forbidden:
        at = find(pattern(text), lines, begin, end)
        if at is not None:
            raise LookupError(f"CHECK-NOT: {text}\n  stands on line {at + 1}: {lines[at]}")


def check_part(checks, lines, begin, end):
    forbidden = []
    for kind, text in checks:
        if kind == "CHECK-NOT":
            forbidden.append(text)
            continue
        at = find(pattern(text), lines, begin, min(begin + 1, end) if kind == "CHECK-NEXT" else end)
        if at is None:
            where = f"line {begin + 1}" if kind == "CHECK-NEXT" else f"lines {begin + 1} to {end}"
            raise LookupError(f"{kind}: {text}\n  does not stand on {where} of the output")
        refuse(forbidden, lines, begin, at)
        forbidden, begin = [], at + 1
    refuse(forbidden, lines, begin, end)


def check(checks, output):
    """Raises LookupError with the check that fails."""
    lines = output.splitlines()
    for part, begin, end in split_at_labels(checks, lines):
        check_part(part, lines, begin, end)


def directives(text):
    found = [DIRECTIVE.search(line) for line in text.splitlines()]
    return [match.groups() for match in found if match]


def run(path, commands, tool, folder):
    """The output of all commands, and the exit code of the first that fails or of the last."""
    environment = dict(os.environ, PATH=f"{tool.parent}:{os.environ['PATH']}") if tool else None
    output, code = "", 0
    for command in commands:
        for name, value in {"%s": path, "%S": path.parent, "%t": folder / "temporary"}.items():
            command = command.replace(name, str(value))
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        output, code = output + done.stdout, done.returncode
        if code != 0:
            break
    return output, code


def run_file(path, tool, update):
    """None, or what is wrong."""
    rows = directives(path.read_text(encoding="utf-8"))
    commands = [text for kind, text in rows if kind == "RUN"]
    checks = [row for row in rows if row[0].startswith("CHECK")]
    expected = path.with_name(path.name + ".expected")
    if not commands or not (checks or expected.exists() or update):
        return "holds no RUN line, or nothing to check"
    wanted = next((int(text) for kind, text in rows if kind == "EXIT"), 0)
    with tempfile.TemporaryDirectory() as folder:
        output, code = run(path, commands, tool, pathlib.Path(folder))
    if code != wanted:
        return f"exit code {code}, need {wanted}\n{output}"
    if update and (expected.exists() or not checks):
        expected.write_text(output, encoding="utf-8")
    if expected.exists() and expected.read_text(encoding="utf-8") != output:
        return f"the output is not {expected.name}; --update writes it anew\n{output}"
    try:
        check(checks, output)
    except LookupError as failure:
        return f"{failure}\n{output}"
    return None


def shortened(text, limit=80):
    lines = text.splitlines()
    more = [f"… and {len(lines) - limit} more lines"] if len(lines) > limit else []
    return "\n".join(lines[:limit] + more)


def self_test():
    output = "start\nalpha  1\nbeta 2\nlabel two\nalpha 3\n"
    good = [[("CHECK", "alpha 1"), ("CHECK-NEXT", "beta {{[0-9]}}")], [("CHECK-LABEL", "label"), ("CHECK", "alpha 3")],
            [("CHECK", "beta"), ("CHECK-NOT", "gamma")]]
    bad = [[("CHECK", "gamma")], [("CHECK", "start"), ("CHECK-NEXT", "beta")], [("CHECK-NOT", "beta"), ("CHECK", "label")],
           [("CHECK-LABEL", "label"), ("CHECK", "beta")], [("CHECK", "beta"), ("CHECK", "alpha 1")],
           [("CHECK", "a.pha")], [("CHECK-LABEL", "none")]]
    for checks in good:
        check(checks, output)
    for checks in bad:
        try:
            check(checks, output)
        except LookupError:
            continue
        print(f"self-test: {checks} did not fail")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    files = [f for p in args.paths for f in (sorted(p.rglob("*")) if p.is_dir() else [p])
             if f.is_file() and f.suffix != ".expected"]
    failed = 0
    for path in files:
        problem = run_file(path.resolve(), args.tool and args.tool.resolve(), args.update)
        if problem:
            failed += 1
            print(f"{path}: {shortened(problem)}\n")
    print(f"{len(files) - failed} of {len(files)} golden files pass")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
