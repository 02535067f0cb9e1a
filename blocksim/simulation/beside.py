"""Compiling beside the work: another process fills the cache, so that nobody waits and nobody stays slow.

python -m blocksim.simulation.beside rk4 < program.py
"""

from __future__ import annotations

import os
import subprocess
import sys

from ..compiler import cache
from ..compiler.program import ProgramText, code_of
from .many.threads import cores

#: The process that compiles now: one at a time, so that what is waited for has the other cores.
AT_WORK: list[subprocess.Popen[bytes]] = []


def compile_beside(code: ProgramText) -> None:
    """Start compiling a program in a process of its own, once, which leaves the result in the cache; without one, do nothing."""
    AT_WORK[:] = [process for process in AT_WORK if process.poll() is None]
    if os.environ.get("BLOCKSIM_BESIDE") == "off":
        return
    if AT_WORK or code.beside is not None or code.compiled is not None or cache.root() is None or cores() < 2:
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    quiet = subprocess.DEVNULL
    try:
        command = [sys.executable, "-m", "blocksim.simulation.beside", code.solver]
        code.beside = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, stdout=quiet, stderr=quiet)
        AT_WORK.append(code.beside)
        with code.beside.stdin as pipe:
            pipe.write(code.text.encode())
    except OSError:
        return  # no process can be had: compiling waits for its turn in this one


def compiles_beside(code: ProgramText) -> bool:
    """Whether another process is at it."""
    return code.beside is not None and code.beside.poll() is None


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(5)  # who waits for a result comes first
    code_of(sys.stdin.buffer.read().decode(), sys.argv[1]).fast()
