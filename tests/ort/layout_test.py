#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""src/ort/ort_api.h lays out onnxruntime's structures as its published headers do, which are looked for in
$ONNXRUNTIME_HEADERS and in the folder of Debian's libonnxruntime-dev."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool"))
from support import ROOT, main  # noqa: E402

OURS = ROOT / "src" / "ort" / "ort_api.h"
HEADER = "onnxruntime_c_api.h"
PLACES = [os.environ.get("ONNXRUNTIME_HEADERS", ""), "/usr/include/onnxruntime", "/usr/include/onnxruntime/core/session"]


def members():
    """(structure, member) of all that is declared."""
    structure = ""
    for line in OURS.read_text().splitlines():
        if opened := re.match(r"struct (\w+) \{", line):
            structure = opened.group(1)
        elif member := re.match(r"  [^/]*?\(\*(\w+)\)\(", line) or re.match(r"  (?:std::uint32_t|bool) (\w+);", line):
            yield structure, member.group(1)


class Layout(unittest.TestCase):
    def test_members(self):
        folder = next((place for place in PLACES if place and (pathlib.Path(place) / HEADER).exists()), None)
        if folder is None:
            self.skipTest(f"{HEADER} is in none of {', '.join(filter(None, PLACES))}")
        found = list(members())
        self.assertGreater(len(found), 80)
        checks = [f'static_assert(offsetof(c::{s}, {m}) == offsetof(Ort{s}, {m}), "{s}::{m}");' for s, m in found]
        enums = ["c::kInvalidArgument == ORT_INVALID_ARGUMENT", "c::kNotImplemented == ORT_NOT_IMPLEMENTED",
                 "c::kEpFail == ORT_EP_FAIL", "c::kLogInfo == ORT_LOGGING_LEVEL_INFO",
                 "c::kLogWarning == ORT_LOGGING_LEVEL_WARNING", "c::kCpuDevice == OrtHardwareDeviceType_CPU",
                 "c::kInts == ORT_OP_ATTR_INTS", "c::kStrings == ORT_OP_ATTR_STRINGS", "c::kTensor == ORT_OP_ATTR_TENSOR",
                 "c::kApiVersion <= ORT_API_VERSION"]
        text = f'#include "{HEADER}"\n#include "ort/ort_api.h"\nnamespace c = tilefuse::ort::c;\n'
        text += "\n".join(checks + [f"static_assert({e});" for e in enums])
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-w", "-fsyntax-only", f"-I{folder}", f"-I{ROOT}/src", "-x", "c++",
                        "-"], input=text, text=True, check=True)


if __name__ == "__main__":
    main()
