"""A studio of its own for these tests; without it they are skipped, in words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def start_studio(name: str, folder: Path | None = None, *options: str) -> tuple[subprocess.Popen[str], str]:
    """A studio in a process of its own, and its address."""
    command = [sys.executable, "-m", "blocksim", "studio", name, "--no-browser", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=folder, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    line = process.stdout.readline()
    return process, line.split()[-1]


@contextmanager
def running_studio(name: str, folder: Path | None = None, *options: str) -> Iterator[str]:
    """The address of a studio that ends with the block."""
    pytest.importorskip("starlette", reason="the extra 'studio' is not installed")
    pytest.importorskip("uvicorn", reason="the extra 'studio' is not installed")
    process, address = start_studio(name, folder, *options)
    try:
        yield address
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def studio() -> Iterator[str]:
    """The address of a studio on one_dof/identify."""
    with running_studio("one_dof/identify") as address:
        yield address


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio on `joint.yaml` of the module's own `folder`, whose drafts are its own too."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    with running_studio("joint.yaml", folder) as where:
        yield where
