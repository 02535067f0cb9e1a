"""Input to paint of eighty slider steps in a real Chromium, and the server's share of it: python benchmarks/studio.py [DIAGRAM]

Then, without a browser: how long a prediction of the Excitation pane takes while a line is dragged and when it is let go, and how
soon a study that is cancelled has ended (the bar is 1 s).

A slider of the bench is moved by the mouse, one step every 60 ms. From the input event to the frame after the curves and the
quick estimates are painted, the page measures itself; the server says how long the run took in it. The bar on a quiet machine is
a median of 50 ms for one_dof/identify, loop and least squares; DIDIM follows beside. The load of the machine is printed: on a
busy one these are no numbers to compare.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

STEPS, PAUSE = 80, 60  # ms
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
LISTEN = """() => {
  window.paints = [];
  let input = 0;
  document.addEventListener("input", () => { input = input || performance.now(); }, true);
  document.addEventListener("painted", (event) => {
    window.paints.push({ ms: input ? performance.now() - input : event.detail.ms, server: event.detail.server });
    input = 0;
  });
}"""


def measure(diagram: str, slider: str) -> list[dict[str, float]]:
    """Milliseconds from the first input that a paint answers to that paint, and of the run in the server, paint by paint."""
    command = [sys.executable, "-m", "blocksim", "studio", diagram, "--no-browser"]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        address = studio.stdout.readline().split()[-1]
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address)
            page.get_by_test_id(f"slider-{slider}").wait_for(timeout=120_000)
            while page.evaluate("studio.wire.pending.size"):  # compiled, first cloud done
                time.sleep(0.5)
            page.evaluate(LISTEN)
            box = page.get_by_test_id(f"slider-{slider}").bounding_box()
            x, y, width = box["x"], box["y"] + box["height"] / 2, box["width"]
            page.mouse.move(x + 0.3 * width, y)
            page.mouse.down()
            for step in range(STEPS):
                page.mouse.move(x + width * (0.3 + 0.5 * step / STEPS), y)
                page.wait_for_timeout(PAUSE)
            page.mouse.up()
            page.wait_for_timeout(1000)
            paints = page.evaluate("window.paints")
            browser.close()
        return paints
    finally:
        studio.terminate()
        studio.wait()


def predictions(diagram: str, count: int = 20) -> tuple[list[float], list[float]]:
    """Milliseconds of predictions while the first line is dragged, and of whole ones."""
    from blocksim.studio.excitation.requests import drag, foretell, look_at_source
    from blocksim.studio.session import Session

    session = Session(name=diagram)
    session.open(diagram)
    view = look_at_source(session, {}).data
    grip, settings = view["grips"][0], {}
    foretell(session, {})
    times: tuple[list[float], list[float]] = ([], [])
    for step in range(count):
        request = {"source": view["source"], "number": grip["number"], "y": grip["y"] * (1 + 0.01 * step), "settings": settings}
        settings = drag(session, request).data["settings"]
        for quick, values in ((True, times[0]), (False, times[1])):
            begin = time.perf_counter()
            foretell(session, {"settings": settings, "quick": quick})
            values.append(1000 * (time.perf_counter() - begin))
    return times


def cancelling(diagram: str, times: int = 3) -> list[float]:
    """Seconds from the request to the end of a study's process, in a folder of its own."""
    from blocksim.studio.session import Session
    from blocksim.studio.study.requests import cancel_study, run_in_pane

    seconds = []
    for number in range(times):
        session = Session(name=diagram)
        session.open(diagram)
        fields = {
            "title": "many",
            "file": f"many{number}.yaml",
            "sweep": {},
            "repeat": 4000,
            "seed": 1,
            "collect": ["ls"],
            "jobs": 1,
        }
        thread = threading.Thread(target=lambda answers: list(answers), args=(run_in_pane(session, fields),))
        thread.start()
        results = Path(f"many{number}") / "results.jsonl"
        while thread.is_alive() and not (results.is_file() and results.read_bytes().count(b"\n") > 5):
            time.sleep(0.05)
        seconds.append(cancel_study(session, {}).data["seconds"])
        thread.join()
    return seconds


def main() -> None:
    diagram = sys.argv[1] if len(sys.argv) > 1 else "one_dof/identify"
    slider = sys.argv[2] if len(sys.argv) > 2 else "smooth.bandwidth"
    print(f"{diagram}, {STEPS} steps of {slider}; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    paints = measure(diagram, slider)
    whole, server = (sorted(paint[key] for paint in paints) for key in ("ms", "server"))
    print(f"{len(paints)} paints")
    for title, values in (("input to paint  ", whole), ("of it the server", server)):
        low, high = values[len(values) // 10], values[9 * len(values) // 10]
        print(f"{title} median {statistics.median(values):5.1f} ms   10 % within {low:5.1f} ms   90 % within {high:5.1f} ms")
    dragged, whole = (statistics.median(values) for values in predictions(diagram))
    print(f"a prediction while a line is dragged {dragged:5.1f} ms, when it is let go {whole:5.1f} ms (medians)")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        print(f"a cancelled study has ended after {max(cancelling(diagram)):.2f} s (the longest of three)")


if __name__ == "__main__":
    main()
