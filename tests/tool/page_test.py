#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page that `explain --html` writes: one well-formed file that asks nobody for anything, whatever its model calls things.

A browser renders it where Debian's chromium-headless-shell or chromium is installed, and tidy reads it where that is; else
these tests are skipped.
"""
import html
import html.parser
import pathlib
import re
import shutil
import subprocess
import urllib.parse

from support import DATA, GLYPHS, ToolTest, main, node, onnx_model, value_info

MODEL = GLYPHS / "model.onnx"
KERNEL_SECTIONS = ["cost", "candidates", "tiling", "schedule", "pipes", "banks", "code"]
SECTIONS = ["graph", "time", "roofline", "memory", "table", "kernels"]
HOSTILE = ["</script><b onload=alert(1)>", "\"'><img src=x onerror=y>", "</title><script>z()</script>", "\u202eright to left\u2066",
           "control\x01\x1b[31m\x7f", "&lt;b&gt;", "]]>--><!--", "javascript:x", "\u0645\u0631\u062d\u0628\u0627"]
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Reader(html.parser.HTMLParser):
    """Every element closes, and what a page holds."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.text, self.attributes = [], [], set(), "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids |= {value for name, value in attrs if name == "id"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data


def browser():
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


class Pages(ToolTest):
    def page(self, *arguments, name="page.html"):
        file = self.folder / name
        self.succeed("explain", *arguments, "--html", file)
        return file

    def read(self, file):
        """The page's elements; it is one file that asks for nothing."""
        text = file.read_text(encoding="utf-8")
        reader = Reader()
        reader.feed(text)
        reader.close()
        self.assertEqual(reader.open, [])
        self.assertEqual(reader.tags.count("script"), 1)
        program = "".join(re.findall(r"<(?:style|script)>.*?</(?:style|script)>", text, re.DOTALL))
        self.assertIsNone(re.search(r"https?:|@import|url\(|fetch|XMLHttp|import\b", program))
        for name, value in reader.attributes:
            self.assertFalse(name.startswith("on") or name in ("src", "srcset", "style"), name)
            self.assertIsNone(re.search(r"https?:", value), value)
            if name == "href":
                self.assertRegex(value, r"^(#|\./[\w.%-]+$)")
        self.assertIn(("http-equiv", "Content-Security-Policy"), reader.attributes)
        return reader

    def rendered(self, file):
        """The document as a browser leaves it."""
        if browser() is None:
            self.skipTest("neither chromium-headless-shell nor chromium is installed")
        done = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300, check=True)
        return done.stdout

    def printed(self, file):
        """Its pages on paper, as text: cell by cell, not line by line across a table."""
        if browser() is None or shutil.which("pdftotext") is None:
            self.skipTest("printing needs chromium-headless-shell or chromium, and poppler-utils")
        paper = file.with_suffix(".pdf")
        subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                        f"--print-to-pdf={paper}", file.as_uri()],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=True)
        text = subprocess.run(["pdftotext", "-raw", str(paper), "-"], text=True, stdout=subprocess.PIPE, check=True).stdout
        return text.removesuffix("\f").split("\f")

    def check_paper(self, file):
        """All headings and all that is folded stand on paper, and no page is empty."""
        pages = self.printed(file)
        self.assertGreaterEqual(len(pages), 2)
        self.assertEqual([number for number, page in enumerate(pages, 1) if not page.strip()], [], "empty pages")
        text = " ".join(" ".join(pages).split())
        page = file.read_text(encoding="utf-8")
        for cell in re.findall(r"<td[^>]*>(?:<a [^>]*>)?([^<]+)</", page):
            self.assertIn("".join(html.unescape(cell).split()), "".join(text.split()), "a cell of a table is cut off")
        for part in re.findall(r"<(?:h2|h3)>(.*?)</", page) + re.findall(r"<p>(It takes .*?|By the model .*?)</p>", page):
            self.assertIn(" ".join(html.unescape(part).split()), text)

    def check(self, file, sections=tuple(SECTIONS)):
        reader = self.read(file)
        self.assertLessEqual(set(sections), reader.ids)
        text = self.rendered(file)
        for section in sections:
            self.assertRegex(text, rf'<section id="{section}">')
        self.assertIn("sort by", text, "its script ran")

    def test_a_model_on_this_machine(self):
        self.need_device("cpu")
        file = self.page(MODEL, "--device", "cpu", "--no-records")
        reader = self.read(file)
        self.assertLessEqual(set(SECTIONS), reader.ids)
        self.assertIn("measured", reader.text)
        self.assertLess(file.stat().st_size, 300_000)

    def test_the_script_is_small(self):
        page = self.page(MODEL, "--target", "cpu_avx2").read_text()
        script = re.search(r"<script>(.*)</script>", page, re.DOTALL).group(1)
        self.assertLessEqual(script.count("\n"), 400)

    def test_its_numbers_are_the_text_s(self):
        rows = self.succeed("explain", MODEL, "--kernel", 1, "--target", "cpu_avx2")
        predicted = re.search(r"^predicted ([0-9.]+ us), (bound by [^\n]+)", rows, re.MULTILINE)
        text = self.read(self.page(MODEL, "--target", "cpu_avx2")).text
        self.assertIn("predicted " + predicted.group(1), text)
        self.assertIn(predicted.group(2), text)

    def test_one_kernel(self):
        text = self.succeed("explain", MODEL, "--kernel", 1, "--target", "opencl_gpu", "--wide")
        table = re.search(r"---- candidates ----\n(.*?)predicted", text, re.DOTALL).group(1).splitlines()
        file = self.page(MODEL, "--kernel", 1, "--target", "opencl_gpu")
        self.check(file, KERNEL_SECTIONS)
        shown = " ".join(self.read(file).text.split())
        self.assertIn("__kernel", shown)
        self.assertIn("Counts are those of block 0", shown)
        self.assertIn(re.split(r"\s{2,}", table[1])[1], shown)

    def test_on_paper(self):
        self.check_paper(self.page(MODEL, "--target", "cpu_avx2"))
        self.check_paper(self.page(MODEL, "--kernel", 1, "--target", "opencl_gpu"))

    def test_banks_of_warps(self):
        """The page's map is the simulator's text."""
        kernel = ("simulate", MODEL, "--from=onnx", "--kernel", 3, "--target", "opencl_gpu", "--blocks", 0)
        self.assertNotIn("banks of local memory", self.succeed(*kernel))
        text = self.succeed(*kernel, "--banks")
        rows = re.findall(r"^  (\S.*?) +[.\d+]{32}  (\d+) wavefronts?$", text, re.MULTILINE)
        self.assertTrue(rows, text)
        shown = self.read(self.page(MODEL, "--kernel", 3, "--target", "opencl_gpu")).text
        for phases, wavefronts in rows[:12]:
            self.assertIn(phases, shown)
            self.assertIn(f"{wavefronts} wavefront", shown)

    def test_a_dump_has_an_index(self):
        self.need_device("cpu")
        folder = self.folder / "dump"
        self.succeed("bench", MODEL, "--device", "cpu", "--repeat", 1, "--dump", folder)
        reader = self.read(folder / "index.html")
        links = [urllib.parse.unquote(value.removeprefix("./")) for name, value in reader.attributes if name == "href"]
        self.assertEqual(sorted(links), sorted(file.name for file in folder.iterdir() if file.name != "index.html"))
        self.assertLess(links.index("000.schedule"), links.index("001.group"))

    def test_hostile_names(self):
        model = self.folder / "m<b>.onnx"
        names = [f"t{k}{name}" for k, name in enumerate(HOSTILE)]
        nodes = [node("Softmax", ["x" if k == 0 else names[k - 1]], [name], name=name) for k, name in enumerate(names)]
        model.write_bytes(onnx_model(nodes, [value_info("x", [1, 64])], [value_info(names[-1], [1, 64])]))
        file = self.page(model, "--target", "cpu_avx2")
        reader = self.read(file)
        self.assertFalse(set(reader.tags) & {"b", "img", "iframe"})
        self.assertIn("<b onload=alert(1)>", reader.text)
        text = file.read_text(encoding="utf-8")
        self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text))
        self.assertIn("\u0645\u0631\u062d\u0628\u0627", text)

    def test_mistakes(self):
        self.refuse("explain", MODEL, "--html", self.folder, says=[str(self.folder)])
        self.refuse("explain", MODEL, "--html", self.folder / "p.html", "--cost", "plaidml", says=["our own cost model"])

    def test_tidy(self):
        if shutil.which("tidy") is None:
            self.skipTest("tidy is not installed")
        file = self.page(MODEL, "--target", "cpu_avx2")
        done = subprocess.run(["tidy", "-e", "-q", str(file)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # Links in pictures are SVG 2, which Debian's tidy does not know.
        others = [line for line in done.stdout.splitlines() if 'proprietary attribute "href"' not in line]
        self.assertEqual(others, [])

    def test_squeezenet_renders(self):
        self.need_data()
        self.need_device("cpu")
        self.check(self.page(DATA / "models" / "squeezenet11_fp32" / "model.onnx", "--device", "cpu", "--no-records"))

    def test_yolox_renders(self):
        self.need_data()
        self.check(self.page(DATA / "models" / "yolox_nano" / "model.onnx", "--target", "cpu_avx2"))

    def test_matrix_instructions_without_the_device_render(self):
        self.need_data()
        model = DATA / "models" / "squeezenet11_fp32" / "model.onnx"
        file = self.page(model, "--target", "cuda_sm90", "--precision", "f16")
        self.check(file)
        self.assertIn("wgmma", file.read_text())
        kernel = self.page(model, "--target", "cuda_sm90", "--precision", "f16", "--kernel", 0, name="k.html")
        self.check(kernel, KERNEL_SECTIONS)
        self.assertIn("wgmma.mma_async", kernel.read_text())
        self.assertNotIn("No warp accesses banked local memory", kernel.read_text())
        operands = re.findall(r"(\d+) wavefronts in (\d+) phases, 0 conflicts", self.read(kernel).text)
        self.assertGreaterEqual(len(operands), 2)  # of a wgmma, whose swizzle has every bank asked once

    def test_sixty_kernels_fit(self):
        self.need_data()
        file = self.page(DATA / "models" / "cifar_resnet56" / "model.onnx", "--target", "cpu_avx2")
        self.assertGreaterEqual(len(re.findall(r'<details id="k', file.read_text())), 55)
        self.assertLessEqual(file.stat().st_size, 300_000)


if __name__ == "__main__":
    main()
