"""The examples run, agree with NumPy (they check that themselves), and write a plot."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    pytest.importorskip("matplotlib")
    plot = tmp_path / "plot.png"
    run = subprocess.run([sys.executable, example, plot], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout
    from matplotlib.image import imread

    assert imread(plot).std() > 0.01
