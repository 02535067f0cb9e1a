"""The house style that tools can check, so that passing the tests means passing all of it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from blocksim import __version__

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache"), ("mypy",)],
    ids=["lint", "format", "mypy"],
)
def test_nothing_to_complain_about(command):
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("path", [".ci/run", ".github/workflows/tests.yml"])
def test_ci_runs_what_the_readme_says(path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    line = next(line for line in readme.splitlines() if "pytest" in line and "venv" in line)
    assert line.strip() in (ROOT / path).read_text(encoding="utf-8")


def test_the_workflow_covers_the_pythons_that_are_promised():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert lowest == f">={matrix['python'][0]}" and {os.split("-")[0] for os in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_hooks_run_what_the_tests_run():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    entries = [hook["entry"] for repo in hooks for hook in repo["hooks"]]
    assert [repo["repo"] for repo in hooks] == ["local"], "nothing is downloaded"
    assert entries == ["python -m ruff check --fix", "python -m ruff format", "python -m mypy"]


def test_the_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert (citation["version"], citation["license"]) == (__version__, "MIT")


def test_the_top_level_is_swept():
    allowed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"}
    allowed |= {"blocksim", "blocks", "diagrams", "tests", "examples", "docs", "benchmarks"}
    if (ROOT / ".git").exists():  # what a developer leaves lying about is not the repository's
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
        top = {name.split("/")[0] for name in listed}
    else:
        top = {path.name for path in ROOT.iterdir()}
    assert {name for name in top if not name.startswith(".")} <= allowed
