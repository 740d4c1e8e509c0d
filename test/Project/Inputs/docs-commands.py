"""Runs the commands that the documentation shows.

    docs-commands.py <source folder> <build folder> <empty folder> [page...]

A page, README.md and every other .md by default, is read from top to bottom:

- An indented block whose first line, comments aside, begins with a tool (TOOL) is
  shell commands. `export` holds for the rest of the page.
- A fenced block of `python` is a Python program.
- A fenced block behind a line that ends with a file's name, as in "With
  `layer.mlir`,", is that file.
- A fenced block of `text` is what the commands before it printed: each line must
  be in their output, after the line before it. `...` stands for anything, and how
  many blanks there are does not matter.
- A fenced block behind a line that ends with a link, as in "in [a file](a.cpp):", is
  an excerpt of that file, compared likewise.
- Everything else is for readers only. But links to files must lead somewhere.

All of it runs in a folder with links to what it uses of the source tree (LINKS), so
that what is written does not land there. A command must end with status 0. What NEEDS says that this
machine lacks is skipped and counted.
"""

import ctypes
import importlib.util
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

TOOL = re.compile(r"(export|cmake|ninja|python3|cc|clang\S*|(moss|mlir|llvm)-\S+|"
                  r"(cmake|utils|examples|benchmark)/[\w.-]+)( |$)")
LINKS = ["benchmark", "cmake", "examples", "python", "test", "utils"]
FILE = re.compile(r".*`([\w.-]+\.\w+)`[,:]$")
EXCERPT = re.compile(r".*\]\((\S+)\):$")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)[^)]*\)")


def has_gpu(build):
    try:
        return bool(ctypes.CDLL(build / "lib/libmoss_runtime.so").mossHasDevice())
    except OSError:
        return False


def find_needs(build):
    """[(pattern of what needs it, name, whether it is there)]"""
    return [
        (r"^(cmake|ninja|cmake/moss\.sh)\b", "a build of its own", False),
        # numerics.test and report.test run them, on less and elsewhere.
        (r"benchmark/(numerics|report)\.py", "minutes, and writes to docs", False),
        (r"benchmark/build\.py|\bcubin\b|\.cubin\b|\bptxas\b", "ptxas",
         shutil.which("ptxas") is not None),
        (r"benchmark/(\w*run|calls)\.py|\bimport torch\b|examples/pytorch/\w+\.py",
         "PyTorch and a GPU",
         has_gpu(build) and importlib.util.find_spec("torch") is not None),
    ]


def blocks(page):
    """Yields (line number, kind, text). A kind is 'indented', a fence's language,
    'file NAME', or 'excerpt PATH'."""
    lines = page.read_text().splitlines()
    number, last = 0, ""  # The last line that is not empty.
    while number < len(lines):
        start = number
        if lines[start].startswith("```"):
            number = lines.index("```", start + 1)
            kind = lines[start][3:]
            for prefix, pattern in [("file", FILE), ("excerpt", EXCERPT)]:
                if found := pattern.match(last):
                    kind = f"{prefix} {found[1]}"
            yield start + 1, kind, "\n".join(lines[start + 1:number]) + "\n"
        elif lines[start].startswith("    ") and start and not lines[start - 1]:
            while number + 1 < len(lines) and re.match(" {4}|$", lines[number + 1]):
                number += 1
            yield start + 1, "indented", "\n".join(line[4:] for line in lines[start:number + 1])
        last = lines[number] or last
        number += 1


def commands(text):
    """The commands of a block, with their continuation lines."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for command in re.split(r"(?<!\\)\n(?! *\|| )", "\n".join(lines)):
        if command:
            yield command


class Page:
    def __init__(self, path, name, folder, build):
        self.path, self.name, self.folder = path, name, folder
        self.needs = find_needs(build)
        self.environment = dict(os.environ, MOSS_BUILD_DIR=str(build),
                                PATH=f"{build}/bin:{os.environ['PATH']}")
        self.exports = []
        self.output = ""
        self.ran = self.skipped = 0

    def fail(self, line, what, text):
        sys.exit(f"{self.name}:{line}: {what}\n{text}\n{self.output}")

    def run(self, line, text, command):
        for pattern, name, there in self.needs:
            if not there and re.search(pattern, text):
                self.skipped += 1
                print(f"{self.name}:{line}: skipped, needs {name}")
                return
        result = subprocess.run(command, cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.output += result.stdout
        self.ran += 1
        if result.returncode:
            self.fail(line, f"ended with status {result.returncode}:", text)

    def run_shell(self, line, text):
        self.output = ""
        for command in commands(text):
            if command.startswith("export "):
                self.exports.append(command)
            else:
                script = "\n".join(["set -eo pipefail", *self.exports, command])
                self.run(line, command, ["bash", "-c", script])

    def check_lines(self, line, text, whole):
        rest = " ".join(whole.split())
        for expected in filter(str.strip, text.splitlines()):
            pattern = ".*?".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
            found = re.search(pattern, rest)
            if not found:
                self.fail(line, "this line, or its place, is wrong:", expected)
            rest = rest[found.end():]

    def check_links(self):
        for line, text in enumerate(self.path.read_text().splitlines(), 1):
            for link in LINK.findall(text):
                if not (self.path.parent / link).exists():
                    self.fail(line, "a link leads nowhere:", link)

    def check(self):
        self.check_links()
        for line, kind, text in blocks(self.path):
            first = next((part for part in text.splitlines() if not part.startswith("#")), "")
            if kind == "indented" and TOOL.match(first):
                self.run_shell(line, text)
            elif kind == "python":
                self.output = ""
                self.run(line, text, [sys.executable, "-c", text])
            elif kind == "text" and self.output:
                self.check_lines(line, text, self.output)
            elif kind.startswith("excerpt "):
                self.check_lines(line, text, (self.path.parent / kind[8:]).read_text())
            elif kind.startswith("file "):
                (self.folder / kind[5:]).write_text(text)
        print(f"{self.name}: {self.ran} run, {self.skipped} skipped")


def main():
    source, build, work = (Path(argument).resolve() for argument in sys.argv[1:4])
    pages = sys.argv[4:] or sorted(
        str(page.relative_to(source)) for folder in [".", "docs", "benchmark", "examples"]
        for page in (source / folder).glob("*.md"))
    for name in pages:
        folder = work / name.replace("/", "-")
        folder.mkdir(parents=True)
        for entry in LINKS:
            (folder / entry).symlink_to(source / entry)
        (folder / "build").symlink_to(build)
        Page(source / name, name, folder, build).check()


main()
