"""Pictures as they were and as they are, side by side for docs/pictures.md: python docs/before_after.py [NAME ...]

What was comes from the code of an older commit, taken from the repository's own history and run beside the present one: it needs
a clone with its history. Each picture is made by the same command with both.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images" / "before_after"
BEFORE = "badf663"  # the last commit before wires, colours, fractions, signs and plots were mended


@dataclass(frozen=True)
class Pair:
    """One picture: the words after `blocksim`, and the file that they leave."""

    words: tuple[str, ...]
    file: str


PAIRS = {
    "loop": Pair(("draw", "emps/didim", "-o", "loop.svg"), "loop.svg"),
    "thousands": Pair(("draw", "tout2022/methods_beside", "-o", "thousands.svg"), "thousands.svg"),
    "cascade": Pair(("draw", "basics/cascade", "-o", "cascade.svg"), "cascade.svg"),
    "wide": Pair(("draw", "gautier2001/wls", "-o", "wide.svg"), "wide.svg"),
    "estimates": Pair(("run", "one_dof/methods", "--out", "run", "--plot"), "run/estimates.png"),
    "plot": Pair(("run", "one_dof/identify", "--out", "identify", "--plot"), "identify/plot.png"),
}


def old_code(folder: Path) -> Path:
    """The project as it was, from its history."""
    archive = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        raise SystemExit(f"commit {BEFORE} is not in this clone: fetch the whole history (git fetch --unshallow).")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def take(pair: Pair, code: Path, target: Path) -> None:
    """One picture by the code of one folder."""
    with tempfile.TemporaryDirectory() as place:
        surroundings = {**os.environ, "PYTHONPATH": str(code), "BLOCKSIM_BESIDE": "off", "BLOCKSIM_CACHE": f"{place}/cache"}
        command = [sys.executable, "-m", "blocksim", *pair.words]
        subprocess.run(command, cwd=place, env=surroundings, check=True, stdout=subprocess.DEVNULL)
        shutil.copyfile(Path(place) / pair.file, target)
    print(f"wrote {target.relative_to(ROOT)}", flush=True)


def main(names: list[str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        codes = {"before": old_code(Path(folder)), "after": ROOT}
        for name, pair in PAIRS.items():
            if not names or name in names:
                for when, code in codes.items():
                    take(pair, code, IMAGES / f"{name}_{when}{Path(pair.file).suffix}")


if __name__ == "__main__":
    main(sys.argv[1:])
