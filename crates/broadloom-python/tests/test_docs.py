"""The pages and the docstrings of compiled classes do what they say."""

import doctest
import importlib.metadata
import linecache
import re
from pathlib import Path

import broadloom as bl
import broadloom._broadloom
import numpy as np
import pytest

PACKAGE = Path(__file__).parents[1]
DOCS = PACKAGE / "../../docs"
PAGES = {page.name: page for page in [DOCS / "python.md", DOCS / "coming-from.md", DOCS / "dataframes.md", PACKAGE / "README.md"]}
FLAGS = doctest.ELLIPSIS


def run(name):
    """Blocks of code run in order, and blocks of a session print what is written, in one namespace, which is returned."""
    names, blocks = {"__name__": "page"}, 0
    text = PAGES[name].read_text()
    # Where functions find their source: the lines of code of the page.
    source = ["\n"] * text.count("\n")
    for found in re.finditer(r"^```(python|pycon)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        kind, block = found.groups()
        blocks += 1
        # Lines before the block, so that a failure names the line of the page.
        above = text.count("\n", 0, found.start(2))
        if kind == "python":
            source[above : above + block.count("\n")] = block.splitlines(True)
            linecache.cache[name] = (len(text), None, source, name)
            exec(compile("\n" * above + block, name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, name, name, above)
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False)
        names.update(test.globs)
        assert not result.failed, f"{name}:{above}"
        assert result.attempted
    assert blocks == text.count("```python\n") + text.count("```pycon\n") > 0
    return names


def column(page, name):
    """The code with which the cells of a column begin, in the tables that have it."""
    header = []
    for line in PAGES[page].read_text().splitlines():
        cells = [cell.strip().replace("\0", "|") for cell in line.replace(r"\|", "\0").strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif name in header and (found := re.match("`(.*?)`", cells[header.index(name)])):
            yield found[1]


# What a page needs beside this package.
NEEDED = {"dataframes.md": ["polars", "duckdb", "pyarrow", "pandas"]}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name, tmp_path, monkeypatch):
    for package in NEEDED.get(name, []):
        pytest.importorskip(package, reason=f"{package} is not installed: docs/{name} is not tested")
    monkeypatch.chdir(tmp_path)
    run(name)


def test_cells_of_python(tmp_path, monkeypatch):
    """They run with the names that the blocks of the page define."""
    monkeypatch.chdir(tmp_path)
    names = run("coming-from.md")
    cells = list(column("coming-from.md", "Python"))
    assert len(cells) > 15
    for cell in cells:
        assert eval(cell, names) is not None, cell  # noqa: S307


@pytest.mark.parametrize("cell", list(column("coming-from.md", "NumPy")))
def test_cells_of_numpy(cell):
    """Compiled, they compute what NumPy does."""
    arrays = {
        "a": np.arange(20.0).reshape(4, 5) % 7 - 3,
        "b": np.arange(20.0).reshape(4, 5) % 3 - 1,
        "i": np.array([2, 0, 3]),
    }
    used = {name: array for name, array in arrays.items() if re.search(rf"\b{name}\b", cell)}
    names = {"np": np}
    exec(f"def function({', '.join(used)}):\n    return {cell}\n", names)  # noqa: S102
    wanted, found = names["function"](**used), bl.jit(names["function"])(**used)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_compiled_docstrings():
    result = doctest.testmod(broadloom._broadloom, optionflags=FLAGS)
    assert result.attempted and not result.failed


def test_version():
    """The compiled module has the version under which the package is installed."""
    assert bl.__version__ == importlib.metadata.version("broadloom")


def test_every_public_name_is_documented():
    for name in bl.__all__:
        thing = getattr(bl, name)
        assert thing.__doc__, name
        members = [member for member in dir(thing) if not member.startswith("_") and member not in dir(Exception)]
        if isinstance(thing, type):
            assert not [member for member in members if not getattr(thing, member).__doc__], name
