#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pack_wheel.py FOLDER VERSION PLATFORM LICENSE OUT: packs a folder as a wheel for every Python 3 on a platform."""
import base64
import hashlib
import pathlib
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: tilefuse
Version: {version}
Summary: Convolutional networks compiled into kernels for CPUs, OpenCL and CUDA
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.22
"""
WHEEL = """Wheel-Version: 1.0
Generator: tilefuse
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def main(folder, version, platform, licence, out):
    info = f"tilefuse-{version}.dist-info"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(platform=platform).encode()
    files[f"{info}/licenses/LICENSE"] = pathlib.Path(licence).read_bytes()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = pathlib.Path(out) / f"tilefuse-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of one date: equal inputs, equal wheel
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    print(f"{path} {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
