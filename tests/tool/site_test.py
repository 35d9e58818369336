#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make docs`: the site builds, with the pages that the program prints, and all its links lead somewhere."""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

from support import ROOT, TOOL, ToolTest, main


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id":
                self.names.add(value)


class Site(ToolTest):
    def setUp(self):
        super().setUp()
        if shutil.which("mkdocs") is None:
            if os.environ.get("CI"):
                self.fail("mkdocs is missing, and CI is set")
            self.skipTest("mkdocs is missing")

    def test_the_site(self):
        """Built in a folder of its own, whose bin is this build's."""
        (self.folder / "bin").symlink_to(TOOL.parent)
        done = subprocess.run([ROOT / "scripts" / "docs.sh", self.folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, TILEFUSE_LIB=str(TOOL.parent)))
        self.assertEqual(done.returncode, 0, done.stderr)
        index = pathlib.Path(done.stdout.strip())
        pages = {path: Page(path.read_text(encoding="utf-8")) for path in index.parent.rglob("*.html")}
        self.assertGreater(len(pages), 20)
        for path, page in pages.items():
            for link in page.links:
                with self.subTest(page=path.name, link=link):
                    self.check_link(pages, path, link)

    def check_link(self, pages, path, link):
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or path.name == "404.html":
            return
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        self.assertTrue(target.exists(), target)
        if parts.fragment and target in pages:
            self.assertIn(parts.fragment, pages[target].names)

    def test_operators_are_the_importers(self):
        """The program's list has every row of the importer's table."""
        rows = set(re.findall(r'^    \{"(\w+)", \d+,', (ROOT / "src" / "onnx" / "table.cpp").read_text(), re.MULTILINE))
        printed = {line.split(",")[0] for line in self.succeed("operators", "--csv", "-").splitlines()[1:]}
        self.assertEqual(printed, rows)


if __name__ == "__main__":
    main()
