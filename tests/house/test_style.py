"""The house style that tools can check, so that passing the tests means passing all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache"), ("mypy",)],
    ids=["lint", "format", "mypy"],
)
def test_nothing_to_complain_about(command):
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_ci_runs_what_the_readme_says():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    line = next(line for line in readme.splitlines() if "pytest" in line and "venv" in line)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert line.strip() in script
