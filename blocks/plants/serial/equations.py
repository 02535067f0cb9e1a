"""The functions of a robot's class as texts: drive and friction joint by joint, then the chain's own law of acceleration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blocksim.contract import vocabulary
from blocksim.contract.syntax import compiled

from ..joints import stiction_margin
from .chain import INERTIAL, Chain
from .texts import TextLaw, acceleration_law, contact_law

RELEASES = 4  # joints that start to slip because another one did
Functions = dict[str, Callable[..., Any]]


def function_of(text: str, **names: Any) -> Callable[..., Any]:
    """A block function from its text, which may call the functions that are given by name."""
    space: dict[str, Any] = {word: getattr(vocabulary, word) for word in vocabulary.__all__}
    space |= {"__name__": "serial", **names}
    exec(compiled(text, "<serial robot>", "exec"), space)
    result: Callable[..., Any] = space[text[4 : text.index("(")]]
    result.__dict__["__source__"] = text
    return result


def row(parts: Sequence[str]) -> str:
    """A tuple as text."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def effort_texts(chain: Chain, motors: bool, signs: Sequence[str]) -> list[str]:
    """Of each joint: what drives it less friction, `signs` being those of its speed in the law of dry friction."""
    n = len(chain)
    texts = []
    for j in range(n):
        driven = [f"N{j + 1} * tau[{j}]" if motors else f"tau[{j}]"]
        lost = [f"Fv{j + 1} * qd[{j}]", f"Fc{j + 1} * {signs[j]}", f"off{j + 1}"]
        for k in chain.coupled:
            shares = chain.coupling[k]
            if not shares[j]:
                continue
            others = " + ".join(f"{shares[i]!r} * qd[{i}]" for i in range(n) if shares[i] and i != j)
            every = " + ".join(f"{shares[i]!r} * qd[{i}]" for i in range(n) if shares[i])
            lost.append(f"{shares[j]!r} * (Fvm{k + 1} * ({others}) + Fcm{k + 1} * tanh(beta * ({every})))")
            if motors and k != j:
                driven.append(f"{shares[j]!r} * N{k + 1} * tau[{k}]")
        texts.append(" + ".join(driven) + "".join(f" - {term}" for term in lost))
    return texts


def drive_names(chain: Chain, motors: bool) -> list[str]:
    """The parameters that `effort_texts` asks for."""
    symbols = ("Fv", "Fc", "off", *(("N",) if motors else ()))
    names = [f"{symbol}{j}" for j in range(1, len(chain) + 1) for symbol in symbols]
    return [*names, *(f"{symbol}{k + 1}" for k in chain.coupled for symbol in ("Fvm", "Fcm")), "beta"]


def inertial_texts(chain: Chain, law: TextLaw, payload: bool) -> tuple[list[str], list[str]]:
    """What the law's parameters are in terms of settings, the payload within the last link; and the settings asked for."""
    last = str(len(chain))
    carried = {f"{symbol}{last}": f"{symbol}L" for symbol in INERTIAL} if payload else {}
    texts = [f"{name} + {carried[name]}" if name in carried else name for name in law.parameters]
    return texts, [*law.parameters, *(carried[name] for name in law.parameters if name in carried)]


def robot_functions(chain: Chain, friction: str, motors: bool, payload: bool) -> Functions:
    """output, derivative and effort of a chain; with true dry friction its guard and reset too."""
    functions = smooth_functions(chain, motors, payload) if friction == "tanh" else sticking_functions(chain, motors, payload)
    if motors:
        ratios = [f"N{j}" for j in range(1, len(chain) + 1)]
        text = f"def effort(tau, {', '.join(ratios)}):\n    return on_joints(tau, {row(ratios)})\n"
        functions["effort"] = function_of(text, on_joints=joint_efforts(chain))
    return functions


def smooth_functions(chain: Chain, motors: bool, payload: bool) -> Functions:
    """Dry friction as tanh(beta qd)."""
    law, n = acceleration_law(chain), range(len(chain))
    inertial, names = inertial_texts(chain, law, payload)
    efforts = effort_texts(chain, motors, [f"tanh(beta * qd[{j}])" for j in n])
    body = f"    a = accelerations(q, qd, {row(efforts)}, {row(inertial)})\n"
    head = f"({', '.join(['q', 'qd', 'tau', *names, *drive_names(chain, motors)])}):\n"
    rates = row([f"qd[{j}]" for j in n] + [f"a[{j}]" for j in n])
    slopes = row([f"a[{j}]" for j in n])
    laws = {"accelerations": law.function}
    return {
        "derivative": function_of(f"def derivative{head}{body}    return {rates}\n", **laws),
        "output": function_of(f"def output{head}{body}    return {slopes}\n", **laws),
    }


def sticking_functions(chain: Chain, motors: bool, payload: bool) -> Functions:
    """True dry friction: each joint has a mode, 1 and -1 slip, 0 sticks. One guard watches all: the chain is asked once."""
    law, n = contact_law(chain), range(len(chain))
    inertial, names = inertial_texts(chain, law, payload)
    settings = [*names, *drive_names(chain, motors)]
    head = f"({', '.join(['q', 'qd', 'tau', 'mode', *settings])}):\n"
    efforts = effort_texts(chain, motors, [f"mode[{j}]" for j in n])
    body = f"    a = contacts(q, qd, {row(efforts)}, mode, {row(inertial)})\n"
    rates = row([f"qd[{j}]" for j in n] + [f"a[{j}]" for j in n])
    margins = [f"stiction_margin(mode[{j}], qd[{j}], a[{j + len(chain)}], Fc{j + 1})" for j in n]
    least = "".join(f"    least = minimum(least, {text})\n" for text in margins[1:])
    laws = {"contacts": law.function, "stiction_margin": stiction_margin}
    plain = smooth_functions(chain, motors, payload)["derivative"].__dict__["__source__"]
    for j in n:
        plain = plain.replace(f"tanh(beta * qd[{j}])", f"sign(qd[{j}])")
    return {
        "derivative": function_of(f"def derivative{head}{body}    return {rates}\n", **laws),
        "output": function_of(f"def output{head}{body}    return {row([f'a[{j}]' for j in n])}\n", **laws),
        "equations": function_of(
            plain.replace("def derivative", "def equations"), accelerations=acceleration_law(chain).function
        ),
        "guard_contact": function_of(f"def guard_contact{head}{body}    least = {margins[0]}\n{least}    return least\n", **laws),
        "reset_contact": function_of(reset_text(chain, head, motors, inertial), **laws),
    }


def reset_text(chain: Chain, head: str, motors: bool, inertial: Sequence[str]) -> str:
    """Joints that have come to rest stick; then, turn by turn, those that cannot hold what pulls at them slip."""
    count = len(chain)
    n = range(count)
    numbers = row(inertial)
    before = row(effort_texts(chain, motors, [f"mode[{j}]" for j in n]))
    after = row([text.replace("qd[", "v[") for text in effort_texts(chain, motors, [f"s[{j}]" for j in n])])
    load = {j: f"a[{j + count}]" for j in n}

    def slip(j: int) -> str:
        return f"(1.0 if {load[j]} > Fc{j + 1} else -1.0 if {load[j]} < -Fc{j + 1} else 0.0)"

    margins = [
        f"mode[{j}] * qd[{j}] if mode[{j}] != 0.0 else Fc{j + 1} - abs({load[j]}) if qd[{j}] == 0.0 else -abs(qd[{j}])" for j in n
    ]
    # The contact that the guard has found is at its margin, whatever rounding says of it.
    rests = [f"mode[{j}] != 0.0 and (mode[{j}] * qd[{j}] <= 0.0 or m[{j}] <= least)" for j in n]
    modes = [f"sign(v[{j}]) if mode[{j}] == 0.0 else 0.0 if rests[{j}] else mode[{j}]" for j in n]
    lines = [
        f"a = contacts(q, qd, {before}, mode, {numbers})",
        f"m = {row(margins)}",
        f"least = {'min(' + ', '.join(f'm[{j}]' for j in n) + ')' if count > 1 else 'm[0]'}",
        f"rests = {row(rests)}",
        f"v = {row([f'0.0 if rests[{j}] else qd[{j}]' for j in n])}",
        f"breaks = {row([f'mode[{j}] == 0.0 and v[{j}] == 0.0 and m[{j}] <= least' for j in n])}",
        f"s = {row(modes)}",
    ]
    for turn in range(min(count, RELEASES) + 1):
        slips = [f"(sign({load[j]}) if breaks[{j}] else {slip(j)})" if turn == 0 else slip(j) for j in n]
        lines.append(f"a = contacts(q, v, {after}, s, {numbers})")
        lines.append(f"s = {row([f'{slips[j]} if s[{j}] == 0.0 and v[{j}] == 0.0 else s[{j}]' for j in n])}")
    lines.append('return {"qd": v, "mode": s}')
    return f"def reset_contact{head}" + "".join(f"    {line}\n" for line in lines)


def joint_efforts(chain: Chain) -> Callable[..., Any]:
    """tau_joint = coupling' N tau, samples under each other."""

    def on_joints(tau: Any, ratios: Any) -> Any:
        import numpy as np

        torques = np.asarray(tau, dtype=float).reshape(len(tau), -1) * np.asarray(ratios)
        return torques @ np.array(chain.coupling) if chain.coupling else torques

    return on_joints
