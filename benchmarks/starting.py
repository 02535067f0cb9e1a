"""Starting up, in units of imports that nothing can avoid (e)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cases
from measure import Row, interleaved, process

#: Seconds that a cold start to the first curve took when this was first measured.
FIRST_CURVE = 0.4


def rows(quick: bool) -> list[Row]:
    """Of `--help`, of a second and a first start, and of a first curve."""
    repeats, command = 2 if quick else 6, "from blocksim.cli.commands import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        warm, files = str(Path(folder) / "warm"), {}
        for name, text in (("servo", cases.SERVO_FILE), ("loop", cases.LOOP_FILE)):
            files[name] = Path(folder) / f"{name}.yaml"
            files[name].write_text(text)
        count = iter(range(1000))

        def fresh() -> float:
            return process("-c", command, "run", str(files["servo"]), cache=str(Path(folder) / f"cold{next(count)}"))()

        def compiling() -> float:
            code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import cases; cases.servo().program.fast()"
            return process("-c", code, cache=str(Path(folder) / f"cold{next(count)}"))()

        def first_curve() -> float:
            code = f"import blocksim as bs; bs.simulate({str(files['loop'])!r})['plant']"
            return process("-c", code, cache=str(Path(folder) / f"cold{next(count)}"))()

        again = process("-c", command, "run", str(files["loop"]), cache=warm)
        again()
        numpy, unit, show, second, first, cold, curve = interleaved(
            [
                process("-c", "import numpy", cache=warm),
                process("-c", "import numpy, scipy.integrate, numba", cache=warm),
                process("-c", command, "--help", cache=warm),
                again,
                fresh,
                compiling,
                first_curve,
            ],
            repeats,
        )
    return [
        Row("e", "blocksim --help, to import numpy", numpy, show, bar=3.0),
        Row("e", "second start on a small diagram, to import numba ...", unit, second, bar=2.0),
        Row("e", "first result of (b) in a fresh cache, to import numba ...", unit, first, bar=2.5),
        Row("e", "  (b) compiled in a fresh cache, to import numba ...", unit, cold),
        Row(
            "e", "cold start to the first curve of a small diagram", note=f"{curve:.2f} s, import numpy {numpy:.2f} s",
            met=curve <= FIRST_CURVE, bar_text=f"<= {FIRST_CURVE:g} s",
        ),
    ]  # fmt: skip
