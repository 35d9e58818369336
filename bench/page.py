# SPDX-License-Identifier: Apache-2.0
"""Sections of the documents that a script measures: each stands between two comments that name its script."""
import pathlib

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


def write_section(page, script, text, heading=""):
    """Puts `text` in place of what bench/`script` wrote into docs/`page` before; a new section goes to the end, under `heading`."""
    path = DOCS / page
    begin, end = f"<!-- measured by bench/{script} -->\n", f"<!-- end of bench/{script} -->\n"
    whole = path.read_text(encoding="utf-8")
    if begin not in whole:
        whole += f"\n{heading}{begin}{end}"
    before, rest = whole.split(begin)
    path.write_text(before + begin + text + end + rest.split(end)[1], encoding="utf-8")
