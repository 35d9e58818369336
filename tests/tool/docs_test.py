#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md, ARCHITECTURE.md, CONTRIBUTING.md and the pages of docs/ tell their reader to type is typed here, and the
files that they name are there; links lead somewhere, and the drawing of figures is what their tables say.

A command is a line of a code block that begins with `tilefuse`, `build/bin/tilefuse`, make, cmake or ctest. The program's
own run in a folder with the files that they name (FILES); options that only ask for patience are shortened (SHORTER).
What cannot run here is skipped with its reason (SKIPPED_HERE): its verb and its options are looked up in the help all the
same. Targets of make, presets and labels are looked up where they are defined. A row of a table here that fits no command
is a mistake.
"""
import gzip
import itertools
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from support import DATA, GLYPHS, ROOT, ToolTest, main

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/index.md", "docs/install.md", "docs/first_minutes.md", "docs/recipes.md",
             "docs/export.md", "docs/libraries.md", "docs/troubleshooting.md", "docs/precision.md", "docs/faster.md", "docs/fine_tune.md",
             "docs/training.md", "docs/tile.md", "docs/trust.md", "docs/environment.md", "docs/limits.md", "docs/changelog.md",
             "docs/plaidml.md")

# What a command calls its files, and the files that stand for them.
CONV = """function conv(I[N, C, H, W], K[M, C, R, S]) -> (O) {
  O[n, m, y, x : N, M, H, W] = +(I[n, c, y + r - 1, x + s - 1] * K[m, c, r, s]);
}
"""
FILES = {
    "model.onnx": GLYPHS / "model.onnx",
    "a.png": GLYPHS / "images" / "01.png",
    "photos": GLYPHS / "images",
    "examples": ROOT / "examples",
    "ops": ROOT / "ops",
    "conv.tile": CONV,
    "squeezenet1.1.onnx": DATA / "models" / "squeezenet11_fp32" / "model.onnx",
    "deeplabv3.onnx": DATA / "models" / "deeplabv3_mnv2" / "model.onnx",
    "yolox_nano.onnx": DATA / "models" / "yolox_nano" / "model.onnx",
    "dog.jpg": DATA / "images" / "dog.jpg",
    "cat.jpg": DATA / "images" / "cat.jpg",
    "train.bin.gz": gzip.compress(bytes(range(10)) * (4 * 3073)),  # 40 pictures of ten classes
    "synset.txt": DATA / "labels" / "imagenet_synset.txt",
}
SHORTER = {
    "--repeat 100": "--repeat 3",
    "--budget 60s": "--budget 2s",
    "--budget 5m": "--budget 2s",
    "photos/*.jpg": "photos/01.png photos/02.png",
    "--size 224x224": "--size 32x32",
    "--scale 1/255 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225": "--scale 1/255 --mean 0.485 --std 0.229",
    "--kernel 3 7": "--kernel 0 1",
    "--kernel 3": "--kernel 1",
}
SKIPPED_HERE = {
    "--device cuda": "needs an NVIDIA GPU",
    "--input x=x.npy": "needs a model of two inputs",
    "tilefuse doctor": "takes two minutes of a device",
    "--from=… --to=…": "leaves the levels to the reader",
    "tilefuse train recipe.toml": "is workers_test.py's",
    "tilefuse tune --import": "reads what the line above it wrote elsewhere",
}


def code_lines(text):
    """The lines of indented and of fenced code blocks, those that end in a backslash with what follows."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            if lines and lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1].rstrip() + " " + line.strip()
            else:
                lines.append(line.strip())
    return lines


def commands(*starts):
    """(document, command) of every line of code that begins so, without its comment."""
    for document in DOCUMENTS:
        for line in code_lines((ROOT / document).read_text(encoding="utf-8")):
            if line.startswith(tuple(start + " " for start in starts)):
                yield document, re.split(r"\s+#\s", line)[0]


def expanded(name):
    """a/{b,c}.h and a.{h,cpp} as the names that they stand for."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    return [full for part in match.group(1).split(",") for full in expanded(name[:match.start()] + part + name[match.end():])]


def is_there(name):
    """Whether a path is one of the repository or of src/, with or without its ending; a bare file may be anywhere in the
    sources. `x` and `y` stand for anything."""
    pattern = re.sub(r"(?<![A-Za-z])[xy](?![A-Za-z])", "*", name.rstrip("/"))
    if "/" not in pattern:
        return any(any((ROOT / folder).rglob(pattern)) for folder in ("src", "tools", "tests", "examples")) or (ROOT / pattern).exists()
    return any(any(folder.glob(pattern + ending))
               for folder, ending in itertools.product((ROOT, ROOT / "src"), ("", ".h", ".cpp")))


class Commands(ToolTest):
    def test_the_program(self):
        self.need_device("cpu")
        self.folders = {}
        shortened, skipped = set(), set()
        for document, command in commands("tilefuse", "build/bin/tilefuse"):
            with self.subTest(document=document, command=command):
                self.look_up_options(command)
                reasons = [part for part in SKIPPED_HERE if part in command]
                skipped.update(reasons)
                for part, shorter in SHORTER.items():
                    if part in command:
                        shortened.add(part)
                        command = command.replace(part, shorter)
                reason = SKIPPED_HERE[reasons[0]] if reasons else self.missing(command)
                if reason:
                    print(f"skipped: {command}: {reason}")
                    continue
                self.succeed(*shlex.split(command)[1:], cwd=self.folder_of(document))
        self.assertEqual(skipped, set(SKIPPED_HERE), "rows of SKIPPED_HERE that no command has")
        self.assertEqual(shortened, set(SHORTER), "rows of SHORTER that no command has")

    def folder_of(self, document):
        """Each document has a folder of its own, with the files that it names."""
        if document not in self.folders:
            self.folders[document] = self.folder / document.replace("/", "_")
            self.folders[document].mkdir()
            self.prepare_files(self.folders[document])
        return self.folders[document]

    @staticmethod
    def prepare_files(folder):
        for name, source in FILES.items():
            path = folder / name
            if isinstance(source, (str, bytes)):
                path.write_bytes(source.encode() if isinstance(source, str) else source)
            elif source.is_dir():
                path.symlink_to(source)
            elif source.is_file():
                shutil.copy(source, path)
        for name in ("model.toml", "labels.txt"):
            shutil.copy(GLYPHS / name, folder)

    def missing(self, command):
        """Why a command cannot run here, or nothing."""
        for word in shlex.split(command):
            if isinstance(FILES.get(word), pathlib.Path) and not FILES[word].exists():
                return f"{FILES[word]} is missing"
        if "--device opencl" in command:
            try:
                self.need_device("opencl")
            except unittest.SkipTest as why:
                return str(why)
        return None

    def look_up_options(self, command):
        words = shlex.split(command)
        known = set(re.findall(r"--[\w-]+", self.succeed(words[1], "--help")))
        asked = {word.split("=")[0] for word in words if word.startswith("--")}
        self.assertLessEqual(asked, known, f"{words[1]} has no such options")

    def test_inline_options(self):
        """Every `--option` in running text is one of some verb, or of what builds and tests the program."""
        verbs = set(re.findall(r"^  ([a-z]+) ", self.succeed("--help"), re.MULTILINE)) - {"tilefuse"}
        known = set(re.findall(r"--[\w-]+", self.succeed("--help") + "".join(self.succeed(verb, "--help") for verb in verbs)))
        known |= {"--preset", "--build", "--test-dir", "--update", "--seconds", "--corpus", "--tool", "--base", "--gpus", "--processes"}
        for document in DOCUMENTS:
            text = (ROOT / document).read_text(encoding="utf-8")
            asked = {option for code in re.findall(r"`([^`\n]+)`", text) for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code)}
            self.assertLessEqual(asked, known, document)

    def test_make_cmake_and_ctest(self):
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        presets = {preset["name"] for kind in ("configurePresets", "buildPresets", "testPresets")
                   for preset in json.loads((ROOT / "CMakePresets.json").read_text()).get(kind, [])}
        tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("CMakeLists.txt"))
        for document, line in commands("make", "cmake", "ctest"):
            for command in (part.split() for part in line.split(" && ")):
                with self.subTest(document=document, command=" ".join(command)):
                    if command[0] == "make":
                        self.assertIn(command[1], targets)
                    for option, known in (("--preset", presets), ("-L", set(re.findall(r"\w+", tests)))):
                        if option in command:
                            self.assertIn(command[command.index(option) + 1], known)


def anchors(text):
    """What headings of a page are called in links to them."""
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
        for page in pages:
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
                if re.match(r"https?:", target):
                    continue
                name, _, anchor = target.partition("#")
                with self.subTest(page=str(page.relative_to(ROOT)), target=target):
                    other = page.parent / name if name else page
                    self.assertTrue(other.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(other.read_text(encoding="utf-8")))

    def test_every_page_is_in_the_contents(self):
        """mkdocs.yml names each page of docs/, and no other than those that scripts/docs.sh prints."""
        named = set(re.findall(r"([\w]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
        self.assertEqual(named - {"commands.md", "operators.md"}, {path.name for path in (ROOT / "docs").glob("*.md")})

    def test_the_drawing_is_what_the_tables_say(self):
        subprocess.run([sys.executable, ROOT / "bench" / "front_page.py", "--check"], check=True)

    def test_readme_is_one_screen(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()), 80)


class Paths(unittest.TestCase):
    """What a document names in backticks is there."""

    def test_paths_in_backticks(self):
        for document in DOCUMENTS:
            text = (ROOT / document).read_text(encoding="utf-8")
            for code in re.findall(r"`([^`\n]+)`", text):
                is_path = re.fullmatch(r"[a-z_0-9.*{},/-]+", code) and re.search(r"/|\.(h|cpp|py|md|toml|tile)$", code)
                if not is_path or code.startswith(("../", "build", "~")):
                    continue
                with self.subTest(document=document, path=code):
                    for name in expanded(code):
                        self.assertTrue(is_there(name), name)

    def test_folders_of_the_map(self):
        """ARCHITECTURE.md's map: each line's folder, and the folders within it that the line names."""
        inside = ROOT
        for line in code_lines((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")):
            if line == "src/":
                inside = ROOT / "src"
            match = re.match(r"([a-z_]+)/ {2,}(.*)", line)
            if not match and not line.startswith(("tools/", "tests/")):
                continue
            names = [match.group(1)] if match else []
            for name in names + re.findall(r"(?<![\w/.])([a-z_]+(?:/[a-z_]+)*)/(?![\w])", line):
                with self.subTest(line=line):
                    self.assertTrue(any((root / name).is_dir() for root in (ROOT, inside, inside / (names + [""])[0])), name)


if __name__ == "__main__":
    main()
