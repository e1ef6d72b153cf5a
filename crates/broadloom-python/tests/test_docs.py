"""The pages and the docstrings of compiled classes do what they say."""

import doctest
import importlib.metadata
import linecache
import re
from pathlib import Path

import broadloom._broadloom
import pytest

PACKAGE = Path(__file__).parents[1]
PAGES = {page.name: page for page in [PACKAGE / "../../docs/python.md", PACKAGE / "README.md"]}
FLAGS = doctest.ELLIPSIS


@pytest.mark.parametrize("name", PAGES)
def test_pages(name, tmp_path, monkeypatch):
    """Blocks of code run in order, and blocks of a session print what is written, in one namespace."""
    monkeypatch.chdir(tmp_path)
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


def test_compiled_docstrings():
    result = doctest.testmod(broadloom._broadloom, optionflags=FLAGS)
    assert result.attempted and not result.failed


def test_version():
    """The compiled module has the version under which the package is installed."""
    import broadloom as bl

    assert bl.__version__ == importlib.metadata.version("broadloom")


def test_every_public_name_is_documented():
    import broadloom as bl

    for name in bl.__all__:
        thing = getattr(bl, name)
        assert thing.__doc__, name
        members = [member for member in dir(thing) if not member.startswith("_") and member not in dir(Exception)]
        if isinstance(thing, type):
            assert not [member for member in members if not getattr(thing, member).__doc__], name
