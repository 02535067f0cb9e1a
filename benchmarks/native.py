"""The C programs in c/, compiled by the system's C compiler into one library and called in this process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from measure import now
from systems import EFFECTS, FILTER, LAG, ROBOT, SERVO, START

FOLDER = Path(__file__).parent / "c"
COMMAND = ("-O2", "-shared", "-fPIC", "-pthread")


def compiler() -> str | None:
    """The system's C compiler, where there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@cache
def library() -> ctypes.CDLL:
    """Compiled anew in every process: the folder is gone as soon as it is loaded."""
    cc = compiler()
    assert cc is not None, "there is no C compiler: compiler() says so"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "programs.so"
        subprocess.run([cc, *COMMAND, "-o", str(path), *map(str, sorted(FOLDER.glob("*.c"))), "-lm"], check=True)
        loaded = ctypes.CDLL(str(path))
    loaded.two_mass_dopri5.restype = ctypes.c_long
    return loaded


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def whole(number: int) -> ctypes.c_long:
    return ctypes.c_long(number)


def real(number: float) -> ctypes.c_double:
    return ctypes.c_double(number)


def seconds(work: Callable[[], object]) -> Callable[[], float]:
    """A timer of the C program inside `work` alone, without the arrays made for it."""

    def timer() -> float:
        kept = work()
        del kept
        return LAST[0]

    return timer


LAST = [0.0]


def call(function: Callable[..., object], *arguments: object) -> None:
    """Run a C program and note how long it took."""
    begun = now()
    function(*arguments)
    LAST[0] = now() - begun


def two_mass(solver: str, stop: float = 20.0, **effects: float) -> np.ndarray:
    """Rows of motor position and speed, arm position and speed, torque, every 2 ms."""
    numbers = np.array([*ROBOT.values(), *(effects.get(name, 0.0) for name in EFFECTS)])
    log = np.zeros((round(500 * stop) + 1, 5))
    if solver == "rk4":
        call(library().two_mass_rk4, address(numbers), whole(round(1000 * stop)), address(log))
    else:
        call(library().two_mass_dopri5, address(numbers), real(stop), real(1e-6), real(1e-8), address(log))
    return log


def servo(stop: float = 10.0) -> np.ndarray:
    """Rows of reference, torque, position, speed, counted position, every 1 ms."""
    samples = round(1000 * stop)
    numbers, log = np.array(list(SERVO.values())), np.zeros((samples + 1, 5))
    call(library().servo, address(numbers), whole(samples), address(log))
    return log


def ekf_loop(stop: float = 10.0) -> np.ndarray:
    """Rows of reference, torque, position, speed, counted position, estimated position and speed, every 1 ms."""
    samples = round(1000 * stop)
    numbers, log = np.array([*SERVO.values(), *FILTER.values()]), np.zeros((samples + 1, 7))
    call(library().ekf_loop, address(numbers), whole(samples), address(log))
    return log


class Logs:
    """The logs of many runs of `servo`, each where C put it."""

    def __init__(self, runs: int, samples: int):
        self.shape = (samples + 1, 5)
        self.pointers = (ctypes.POINTER(ctypes.c_double) * runs)()

    def __getitem__(self, run: int) -> np.ndarray:
        return np.ctypeslib.as_array(self.pointers[run], self.shape)

    def __del__(self) -> None:
        library().servo_free(whole(len(self.pointers)), self.pointers)


def servo_many(table: list[dict[str, float]], threads: int, stop: float = 10.0) -> Logs:
    """The rows of `servo` for every joint of the table, on so many threads."""
    logs = Logs(len(table), round(1000 * stop))
    numbers = np.array([[row.get(f"joint.{name}", value) for name, value in SERVO.items()] for row in table])
    call(library().servo_many, address(numbers), whole(len(table)), whole(round(1000 * stop)), whole(threads), logs.pointers)
    return logs


def chain(lags: int, stop: float = 10.0) -> np.ndarray:
    """The output of the last lag every 1 ms."""
    steps = round(1000 * stop)
    gains, constants, x = np.ones(lags), np.full(lags, LAG), np.full(lags, START)
    work, log = np.zeros(5 * lags), np.zeros(steps + 1)
    call(library().chain, whole(lags), whole(steps), address(gains), address(constants), address(x), address(work), address(log))
    return log
