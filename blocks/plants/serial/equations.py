"""The functions of a robot's class as texts: drive and friction joint by joint, then the chain's own law of acceleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blocksim.contract import vocabulary
from blocksim.contract.syntax import compiled

from .chain import INERTIAL, Chain
from .texts import acceleration_law


def function_of(text: str, **names: Any) -> Callable[..., Any]:
    """A block function from its text, which may call the functions that are given by name."""
    space: dict[str, Any] = {word: getattr(vocabulary, word) for word in vocabulary.__all__}
    space |= {"__name__": "serial", **names}
    exec(compiled(text, "<serial robot>", "exec"), space)
    title = text[4 : text.index("(")]
    result: Callable[..., Any] = space[title]
    result.__dict__["__source__"] = text
    return result


def effort_texts(chain: Chain, motors: bool, speeds: list[str] | None = None) -> list[str]:
    """Of each joint: what drives it less friction; `speeds` in the place of tanh of the speed where a mode says the sign."""
    n = len(chain)
    texts = []
    for j in range(n):
        dry = f"tanh(beta * qd[{j}])" if speeds is None else speeds[j]
        driven = [f"tau[{j}]"] if not motors else [f"N{j + 1} * tau[{j}]"]
        lost = [f"Fv{j + 1} * qd[{j}]", f"Fc{j + 1} * {dry}", f"off{j + 1}"]
        for k in chain.coupled:
            row = chain.coupling[k]
            if not row[j]:
                continue
            others = " + ".join(f"{row[i]!r} * qd[{i}]" for i in range(n) if row[i] and i != j)
            every = " + ".join(f"{row[i]!r} * qd[{i}]" for i in range(n) if row[i])
            lost.append(f"{row[j]!r} * (Fvm{k + 1} * ({others}) + Fcm{k + 1} * {coupled_sign(every, speeds)})")
            if motors and k != j:
                driven.append(f"{row[j]!r} * N{k + 1} * tau[{k}]")
        texts.append(" + ".join(driven) + "".join(f" - {term}" for term in lost))
    return texts


def coupled_sign(speed: str, speeds: list[str] | None) -> str:
    return f"tanh(beta * ({speed}))" if speeds is None else f"sign({speed})"


def drive_names(chain: Chain, motors: bool, smooth: bool) -> list[str]:
    """The parameters that `effort_texts` asks for."""
    names = [f"{symbol}{j}" for j in range(1, len(chain) + 1) for symbol in ("Fv", "Fc", "off", *(("N",) if motors else ()))]
    names += [f"{symbol}{k + 1}" for k in chain.coupled for symbol in ("Fvm", "Fcm")]
    return [*names, *(("beta",) if smooth or chain.coupled else ())]


def robot_functions(chain: Chain, friction: str, motors: bool, payload: bool) -> dict[str, Callable[..., Any]]:
    """output, derivative and effort of a chain."""
    law = acceleration_law(chain)
    last = len(chain)
    held = [f"{symbol}{last}" for symbol in INERTIAL] if payload else []
    inertial = [f"{name} + {name.removesuffix(str(last))}L" if name in held else name for name in law.parameters]
    loads = [f"{name.removesuffix(str(last))}L" for name in law.parameters if name in held]
    names = [*law.parameters, *loads, *drive_names(chain, motors, True)]
    efforts = ", ".join(effort_texts(chain, motors))
    body = f"    a = accelerations(q, qd, ({efforts},), ({', '.join(inertial)},))\n"
    arguments = ", ".join(["q", "qd", "tau", *names])
    given = {"accelerations": law.function}
    rates = ", ".join([*(f"qd[{j}]" for j in range(last)), *(f"a[{j}]" for j in range(last))])
    slopes = ", ".join(f"a[{j}]" for j in range(last))
    functions = {
        "derivative": function_of(f"def derivative({arguments}):\n{body}    return {rates}\n", **given),
        "output": function_of(f"def output({arguments}):\n{body}    return {slopes}{',' if last == 1 else ''}\n", **given),
    }
    if motors:
        ratios = [f"N{j}" for j in range(1, last + 1)]
        text = f"def effort(tau, {', '.join(ratios)}):\n    return on_joints(tau, ({', '.join(ratios)},))\n"
        functions["effort"] = function_of(text, on_joints=joint_efforts(chain))
    return functions


def joint_efforts(chain: Chain) -> Callable[..., Any]:
    """tau_joint = coupling' N tau, samples under each other."""

    def on_joints(tau: Any, ratios: Any) -> Any:
        import numpy as np

        torques = np.asarray(tau, dtype=float).reshape(len(tau), -1) * np.asarray(ratios)
        return torques @ np.array(chain.coupling) if chain.coupling else torques

    return on_joints
