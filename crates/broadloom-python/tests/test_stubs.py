"""The stubs say what the compiled module has."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


def test_stubs(tmp_path):
    pytest.importorskip("mypy")
    allowed = Path(__file__).with_name("stubtest.allow")
    command = [sys.executable, "-m", "mypy.stubtest", "broadloom", "--ignore-missing-stub", "--allowlist", allowed]
    # Modules for packages that are not installed cannot be imported.
    packages = {"torch": ["torch"], "einops": ["einops"], "polars": ["polars"], "duckdb": ["duckdb", "pyarrow"]}
    absent = [name for name, needed in packages.items() if not all(map(importlib.util.find_spec, needed))]
    if absent:
        (tmp_path / "absent.allow").write_text("".join(f"broadloom\\.{name}\n" for name in absent))
        command += ["--allowlist", "absent.allow"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stdout + run.stderr


def test_types_of_calls(tmp_path):
    """What a type checker makes of the functions that most code calls."""
    pytest.importorskip("mypy")
    (tmp_path / "calls.py").write_text(
        "import broadloom as bl; from typing import Any\n"
        "def f(x: list[float], n: int) -> tuple[float, int]: raise ValueError\n"
        "g = bl.jit(static='n')(f); unknown: Any = f\n"
        "reveal_type(bl.jit(f)([1.0], 2))\n"
        "reveal_type(g([1.0], n=2))\n"
        "reveal_type(g([1.0], 2, out=[3.0]))\n"
        "reveal_type(bl.jit(unknown)(1))\n"
        "reveal_type(bl.input('x', 'f32[n]'))\n"
        "bl.eval(3)\n"
        "bl.input('x')\n"
        "g([1.0])\n"
        "g(1.0, 2)\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "calls.py"]
    lines = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500).stdout.splitlines()
    assert [line.split(":")[1] for line in lines if "error:" in line] == ["9", "10", "11", "12"], lines
    notes = [line.split('"')[1] for line in lines if "note: Revealed" in line]
    pair = "tuple[float, int]"
    assert [note.replace("builtins.", "") for note in notes] == [pair, pair, pair, "Any", "broadloom._lazy.Array"], lines
