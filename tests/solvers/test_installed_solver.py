"""Somebody else's solvers, added as CONTRIBUTING says: found by name everywhere, and held to the tests of our own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Adding a solver")[2].partition("\n## ")[0]
#: The page's own method, with error control; one in fixed steps; one whose last stage is not the slope at the end.
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
RALSTON = 'RALSTON = Tableau("ralston", order=2, c=numbers("0 2/3"), a=rows("", "2/3"), b=numbers("1/4 3/4"))\n'
KUTTA = """
KUTTA32 = Tableau("kutta32", order=3, c=numbers("0 1/2 1"), a=rows("", "1/2", "-1 2"), b=numbers("1/6 2/3 1/6"),
                  e=numbers("1/6 -1/3 1/6"))  # against the midpoint rule
"""
OTHERS = ("ralston = theirs.solvers:RALSTON", "kutta32 = theirs.solvers:KUTTA32")
GROUP, ENTRY = re.search(r'entry-points\."(.*?)"', PAGE)[1], re.search(r'`(bs32 = ".*?")`', PAGE)[1].replace('"', "")
DIAGRAM = """
format: 1
simulate: {stop: 1, solver: bs32, every: 0.01}
blocks:
  one: {type: Constant}
  lag: {type: FirstOrderLag, T: 0.5, in: one}
"""


def install(folder, code=CODE + RALSTON + KUTTA, entries=(ENTRY, *OTHERS)):
    """What an installer leaves: the package, and metadata with its entry points."""
    package, metadata = folder / "theirs", folder / "theirs-1.0.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text("")
    (package / "solvers.py").write_text(code)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n" + "\n".join(entries) + "\n")
    (folder / "lag.yaml").write_text(DIAGRAM)
    return folder


def python(folder, *words):
    """A Python that has the package."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}
    )


def blocksim(folder, *words):
    return python(folder, "-m", "blocksim", *words)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return install(tmp_path_factory.mktemp("theirs"))


def test_it_passes_the_tests_of_every_solver(theirs):
    # Order of convergence, error and work under error control, rows inside steps, located events, failures: by the shared tests.
    files = [str(ROOT / "tests" / "solvers" / f"test_{name}.py") for name in ("solvers", "events", "failures")]
    done = python(
        theirs, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", "-k", "bs32 or ralston or kutta32", *files
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= 80


def test_the_same_bits_compiled(theirs):
    code = (
        "import blocksim as bs\n"
        "for name, more in (('bs32', {}), ('kutta32', {}), ('ralston', {'step': 0.03})):\n"
        "    slow, fast = (bs.simulate('lag.yaml', solver=name, engine=e, **more) for e in ('python', 'compiled'))\n"
        "    assert slow['lag'].tobytes() == fast['lag'].tobytes()\n"
        "    assert abs(fast['lag'] - (1 - 2.718281828459045 ** (-2 * fast.t))).max() < (1e-3 if more else 1e-7)\n"
        "print('same')\n"
    )
    done = python(theirs, "-c", code)
    assert done.stdout.strip() == "same", done.stderr


def test_the_command_line_and_the_schema_know_it(theirs):
    assert blocksim(theirs, "check", "lag.yaml").returncode == 0
    done = blocksim(theirs, "run", "lag.yaml")
    assert done.returncode == 0 and "bs32" in done.stdout + done.stderr
    done = blocksim(theirs, "run", "lag.yaml", "--solver", "ralston")
    assert done.returncode and "the fixed-step solver ralston needs a 'step'" in done.stderr
    done = blocksim(theirs, "run", "lag.yaml", "--solver", "bs23")
    assert "no solver 'bs23'. Solvers are: euler, heun, rk4, dopri5, rodas4, bs32, kutta32, ralston, scipy:RK45" in done.stderr
    assert "Did you mean 'bs32'?" in done.stderr
    assert '"bs32"' in blocksim(theirs, "schema").stdout


def test_a_wrong_coefficient_is_refused_with_its_condition(tmp_path):
    # 3/4 taken from the first slope: sum b_i a_ij c_j is 0 instead of 1/3 * 1/2 = 1/6.
    wrong = CODE.replace('"0 3/4"', '"3/4 0"')
    assert wrong != CODE
    done = blocksim(install(tmp_path, wrong, [ENTRY]), "run", "lag.yaml")
    assert done.returncode and "solver 'bs32': sum b_i a_ij c_j = 1/6 (order 3) does not hold: it is 0." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("bs32 = theirs.solvers:NOTHING", "'bs32' of blocksim's solvers (theirs.solvers:NOTHING) cannot be loaded"),
        ("bs32 = theirs.solvers:numbers", "'bs32' of blocksim's solvers is a function; a Tableau is wanted"),
        (
            "bs32 = theirs.solvers:BS32\nrk4 = theirs.solvers:BS32",
            "an installed package adds the solver 'rk4' (theirs.solvers:BS32), which is ours. Rename it.",
        ),
    ],
)
def test_what_is_no_solver_is_named(tmp_path, entry, words):
    done = blocksim(install(tmp_path, entries=[entry]), "run", "lag.yaml")
    assert done.returncode and words in done.stderr and "Traceback" not in done.stderr
