# SPDX-License-Identifier: Apache-2.0
"""A Debian 12 in a folder with nothing but its base and the packages that are named: debootstrap makes it, and commands run within
it, where the loader finds what lies in the folder alone.

TILEFUSE_CHROOT names a folder for systems that stay and are taken again."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SUITE = "bookworm"


class EmptySystem:
    """`name` tells systems of other packages apart. unittest.SkipTest where debootstrap, its archive or the rights are missing."""

    def __init__(self, name, packages):
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            raise unittest.SkipTest("debootstrap or the rights to use it are missing")
        self.kept = os.environ.get("TILEFUSE_CHROOT")
        self.folder = pathlib.Path(self.kept or tempfile.mkdtemp(prefix="tilefuse-chroot-"))
        self.root = self.folder / name
        is_made = self.folder / f"{name}.made"
        if is_made.exists():
            return
        made = subprocess.run(["debootstrap", "--variant=minbase", "--include=" + ",".join(packages), SUITE, self.root],
                              capture_output=True, text=True)
        if made.returncode != 0:
            self.remove()
            raise unittest.SkipTest("debootstrap: " + made.stdout[-200:])
        is_made.touch()

    def remove(self):
        if not self.kept:
            shutil.rmtree(self.folder)

    def inside(self, command, **variables):
        """What a shell within the system prints; AssertionError where it fails."""
        environment = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        environment.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND="noninteractive", LC_ALL="C", HOME="/root")
        environment.update(variables)
        enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1"'
        told = subprocess.run(["unshare", "--mount", "sh", "-c", enter, self.root, command], capture_output=True, text=True,
                              env=environment, timeout=1200)
        if told.returncode != 0:
            raise AssertionError(f"{command}\n{told.stdout[-3000:]}\n{told.stderr[-3000:]}")
        return told.stdout
