"""Run the NumPy programs of NPBench through `bl.jit`, unchanged, and write what each does to docs/npbench.md.

    pip install scipy numba
    python benches/npbench.py PATH/TO/NPBENCH [--write] [--numba] [--preset S] [NAME ..]

The folder holds `run.py`, which runs each program in a process of its own and compares its results and its changed
arguments with NumPy's. Without numba, its column is empty.
"""

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import broadloom as bl

PAGE = Path(__file__).parents[3] / "docs" / "npbench.md"
LINE = re.compile(r"^(\S+) +numpy +(\S+) numba +(\S+) ours +(\S+) first +(\S+) (.*)$")

INTRODUCTION = """# The programs of NPBench

Each of NPBench's {count} NumPy programs runs through `bl.jit`, unchanged, at preset {preset}. A program is right if its results and
the arguments that it changes agree with NumPy's (a relative difference of 1e-6 for f64, of 1e-3 for f32). **{right} of {count} run and
are right.** Written by `{command}` in `crates/broadloom-python` in one run, on {machine}, {processors} processors,
Python {python}, NumPy {numpy}, Broadloom {version}, on {date}; do not edit.

Times are in milliseconds. The first call traces and compiles the program; the other columns are the best of up to 7 later calls.
numba compiles NPBench's own version of the program, which may be written in another way, for one thread. The load of the machine
(processes that run or wait) was {before:.1f} at the start and {after:.1f} at the end: above 1, other work makes the times longer.
TIMEOUT is a program that took more than 150 s.
"""

# Why results differ, by program.
REASONS = {
    "resnet": "a few of 50,176 results near 0, in f32, differ in more than three digits from those in f64; so does one of NumPy's",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--numba", action="store_true")
    parser.add_argument("--preset", default="S")
    options = parser.parse_args()
    command = [sys.executable, "run.py", "--preset", options.preset, *(["--numba"] if options.numba else []), ".", *options.names]
    rows, before = [], os.getloadavg()[0]
    with subprocess.Popen(command, cwd=options.folder, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
            row = read(line.rstrip("\n"))
            if row is not None:
                rows.append(row)
    if options.write:
        PAGE.write_text(page(rows, options, before))


def read(line):
    """The cells of a line that `run.py` prints for a program; `None` for other lines."""
    found = LINE.match(line)
    if found is None:
        name, _, said = line.partition(" ")
        return [name, said.strip(), "", "", "", "", ""] if re.search("TIMEOUT|CRASH", said) else None
    name, numpy, numba, ours, first, said = found.groups()
    # Messages have the text too: `(a < x) & (x < b)`.
    state, factor = re.fullmatch(r"(.*?)(?: x([\d.]+))?", said.strip()).groups("")
    numpy, numba, ours, first = ("" if cell == "-" else cell for cell in (numpy, numba, ours, first))
    if state == "WRONG":
        state = ": ".join(["**other results**", *filter(None, [REASONS.get(name)])])
    state = "runs" if state == "ok" else state.removeprefix("FAIL ")
    return [name, state, first, ours, numpy, numba, factor]


def processor():
    """The name of the processor, where the system tells it."""
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def page(rows, options, before):
    """The text of the page; `before` is the load of the machine at the start."""
    head = INTRODUCTION.format(
        count=len(rows),
        preset=options.preset,
        right=sum(row[1] == "runs" for row in rows),
        command=f"python benches/npbench.py NPBENCH --write{' --numba' if options.numba else ''}",
        machine=processor(),
        processors=os.cpu_count(),
        python=platform.python_version(),
        numpy=np.__version__,
        version=bl.__version__,
        date=datetime.date.today(),
        before=before,
        after=os.getloadavg()[0],
    )
    cells = ["program", "result", "first call", "later calls", "NumPy", "numba", "NumPy / Broadloom"]
    lines = [cells, ["---"] * len(cells), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return head + "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
