"""bs.explore in marimo, in a real browser: a slider that is moved there is read in Python by the cells that depend on it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

pytest.importorskip("anywidget", reason="the extra 'notebook' is not installed")
pytest.importorskip("marimo", reason="marimo is not installed")

NOTEBOOK = """import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import blocksim as bs

    explorer = mo.ui.anywidget(bs.explore("one_dof/identify", gain=(0.25, 4), **{"smooth.bandwidth": (5, 60)}))
    explorer
    return explorer, mo


@app.cell
def _(explorer, mo):
    mo.md(f"In Python gain is {explorer.values['gain']:.4g}, J is {explorer.estimates['ls']['J'].value:.6g}.")
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def marimo_address(tmp_path):
    """A marimo that shows the notebook."""
    (tmp_path / "notebook.py").write_text(NOTEBOOK, encoding="utf-8")
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = line.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "-q", "run", "notebook.py", "--headless", "--no-token"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ})
    address, begin = f"http://127.0.0.1:{port}", time.monotonic()
    while time.monotonic() - begin < 60:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            break
        except OSError:
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait(20)


def test_the_value_of_a_slider_comes_back_into_python(marimo_address, open_page):
    import blocksim as bs

    page = open_page(marimo_address)
    page.get_by_test_id("row-ls-J").wait_for()
    page.get_by_text("In Python gain is 1,").wait_for()
    page.get_by_test_id("slider-gain").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    value = float(page.get_by_test_id("number-gain").input_value())  # within a shadow of the page
    assert value > 1
    expected = bs.simulate("one_dof/identify", params={"gain": value}).estimates["ls"]["J"].value
    page.get_by_text(f"In Python gain is {value:.4g}, J is {expected:.6g}.").wait_for()
