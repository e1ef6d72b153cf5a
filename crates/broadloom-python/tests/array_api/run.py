"""Run the conformance suite of the array API standard on `broadloom.array_api`.

    BROADLOOM_ARRAY_API_TESTS=path/to/array-api-tests python tests/array_api/run.py [--max-examples N] [pytest's arguments]

The suite is github.com/data-apis/array-api-tests, which needs what its requirements.txt names. It runs in a copy, so that
nothing is written beside it. Left out are tests of the extension `fft` and of complex numbers, which the namespace does not
have. Tests that fail are listed in expected_failures.txt with their reasons: one that fails and is not
listed, one that is listed and passes, and one that is listed and does not exist make the run fail.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

VERSION = "2025.12"
EXPECTED = Path(__file__).resolve().with_name("expected_failures.txt")
# Beginnings or parts of the names of tests that are left out.
LEFT_OUT = ("test_has_names[fft-", "test_fft.py::", "imag(x_i)")


class Selection:
    """What pytest is to run, and what is missing in it."""

    def __init__(self, is_whole):
        self.is_whole = is_whole
        self.missing = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        kept, left_out = [], []
        for item in items:
            (left_out if any(part in item.nodeid for part in LEFT_OUT) else kept).append(item)
        items[:] = kept
        config.hook.pytest_deselected(items=left_out)
        listed = [line for line in EXPECTED.read_text().splitlines() if line and not line.startswith("#")]
        if self.is_whole:
            self.missing = sorted(set(listed) - {item.nodeid for item in kept})


def without_complex_numbers(helpers):
    """Lets the suite be imported without complex dtypes, the widest of which it looks for: there is none."""
    text = helpers.read_text()
    looks = "for dt in complex_dtypes], key=lambda x: x[1]"
    if text.count(looks) != 1:
        sys.exit(f"this version of the suite is another one: {helpers.name} has not once `{looks}`")
    helpers.write_text(text.replace(looks, f"{looks}, default=(None,)"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-examples", type=int, default=20, help="examples for each test (default: 20)")
    options, rest = parser.parse_known_args()
    suite = os.environ.get("BROADLOOM_ARRAY_API_TESTS")
    if suite is None:
        sys.exit("name the folder of the suite: BROADLOOM_ARRAY_API_TESTS=path/to/array-api-tests")
    if not Path(suite, "array_api_tests").is_dir():
        sys.exit(f"{suite} is not the suite: it has no folder array_api_tests")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "suite")
        shutil.copytree(suite, copy, ignore=shutil.ignore_patterns(".git", ".hypothesis", "__pycache__"))
        # The suite asks whether the standard's text is there, and reads only its stubs.
        Path(copy, "array-api", "spec", VERSION, "API_specification").mkdir(parents=True, exist_ok=True)
        without_complex_numbers(Path(copy, "array_api_tests", "dtype_helpers.py"))
        os.environ |= {
            "ARRAY_API_TESTS_MODULE": "broadloom.array_api",
            "ARRAY_API_TESTS_VERSION": VERSION,
            "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
        }
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        selection = Selection(is_whole=not rest)
        arguments = ["-q", "-p", "no:cacheprovider", "-rfE", "--tb=short", "-o", "xfail_strict=true"]
        arguments += ["--derandomize", "--disable-deadline", f"--max-examples={options.max_examples}"]
        arguments += [f"--xfails-file={EXPECTED}", f"--skips-file={os.devnull}", *(rest or ["array_api_tests"])]
        code = pytest.main(arguments, plugins=[selection])
        os.chdir(EXPECTED.parent)
    if selection.missing:
        sys.exit("listed as expected failures, and no tests:\n" + "\n".join(selection.missing))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
