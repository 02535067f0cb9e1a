"""The functions of a robot's class as texts: drive and friction joint by joint, then the chain's own law of acceleration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blocksim.contract import vocabulary
from blocksim.contract.syntax import compiled

from ..joints import stiction_margin
from .chain import INERTIAL, SPRING, Chain
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


def motor_speed(chain: Chain, j: int) -> str:
    """The speed that friction of a joint acts on, as text: that of its motor, on the joint's side."""
    return f"wm[{chain.flexible.index(j)}]" if j in chain.flexible else f"qd[{j}]"


def spring_texts(chain: Chain) -> list[str]:
    """Of each flexible joint: what its spring and damper pass on to the link."""
    return [
        f"K{j + 1} * torsion[{i}] + Kc{j + 1} * cube(torsion[{i}]) + D{j + 1} * (wm[{i}] - qd[{j}])"
        for i, j in enumerate(chain.flexible)
    ]


def on_links(chain: Chain, efforts: Sequence[str], springs: str = "s") -> list[str]:
    """What acts on each link: the effort of its motor, or that of its spring."""
    return [f"{springs}[{chain.flexible.index(j)}]" if j in chain.flexible else text for j, text in enumerate(efforts)]


def effort_texts(chain: Chain, motors: bool, signs: Sequence[str]) -> list[str]:
    """Of each joint: what drives it less friction, `signs` being those of its speed in the law of dry friction."""
    n = len(chain)
    texts = []
    for j in range(n):
        driven = [f"N{j + 1} * tau[{j}]" if motors else f"tau[{j}]"]
        lost = [f"Fv{j + 1} * {motor_speed(chain, j)}", f"Fc{j + 1} * {signs[j]}", f"off{j + 1}"]
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
    """The parameters that `effort_texts` and `spring_texts` ask for, and the inertia of motors behind springs."""
    symbols = ("Fv", "Fc", "off", *(("N",) if motors else ()))
    names = [f"{symbol}{j}" for j in range(1, len(chain) + 1) for symbol in symbols]
    names += [f"{symbol}{j + 1}" for j in chain.flexible for symbol in ("Ia", *SPRING)]
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


def function_head(chain: Chain, *names: str) -> str:
    """The head of a function of the robot's state, what drives it, and these."""
    return f"({', '.join(['q', 'qd', *(('torsion', 'wm') if chain.flexible else ()), 'tau', *names])}):\n"


def spring_line(chain: Chain) -> str:
    return f"    s = {row(spring_texts(chain))}\n" if chain.flexible else ""


def motor_texts(chain: Chain, efforts: Sequence[str], sticks: bool = False) -> list[str]:
    """Accelerations of the motors behind springs; of one that dry friction holds, 0."""
    texts = [f"({efforts[j]} - s[{i}]) / Ia{j + 1}" for i, j in enumerate(chain.flexible)]
    return [f"0.0 if mode[{j}] == 0.0 else {text}" for j, text in zip(chain.flexible, texts, strict=True)] if sticks else texts


def rates_text(chain: Chain, motors: Sequence[str]) -> str:
    """The derivatives of all states, the law's accelerations being a."""
    n = range(len(chain))
    twists = [f"wm[{i}] - qd[{j}]" for i, j in enumerate(chain.flexible)]
    return row([*(f"qd[{j}]" for j in n), *(f"a[{j}]" for j in n), *twists, *motors])


def port_functions(chain: Chain, head: str, body: str, laws: Mapping[str, Any]) -> Functions:
    """qdd; and where joints are flexible what their motors do and what their springs pass on."""
    n = range(len(chain))
    name = "output_qdd" if chain.flexible else "output"
    functions = {name: function_of(f"def {name}{head}{body}    return {row([f'a[{j}]' for j in n])}\n", **laws)}
    if not chain.flexible:
        return functions
    shares = chain.coupling or [[float(i == j) for i in n] for j in n]

    def turned(vector: str, k: int) -> str:
        return " + ".join((f"{vector}[{i}]" if v == 1 else f"{v!r} * {vector}[{i}]") for i, v in enumerate(shares[k]) if v)

    places = [turned("q", j) + (f" + torsion[{chain.flexible.index(j)}]" if j in chain.flexible else "") for j in n]
    speeds = [motor_speed(chain, j) if j in chain.flexible else turned("qd", j) for j in n]
    springs = [f"{symbol}{j + 1}" for j in chain.flexible for symbol in SPRING]
    texts = {
        "output_qm": f"(q, torsion):\n    return {row(places)}\n",
        "output_qmd": f"(qd, wm):\n    return {row(speeds)}\n",
        "output_tau_s": f"(qd, torsion, wm, {', '.join(springs)}):\n    return {row(spring_texts(chain))}\n",
    }
    return functions | {name: function_of(f"def {name}{text}") for name, text in texts.items()}


def smooth_functions(chain: Chain, motors: bool, payload: bool) -> Functions:
    """Dry friction as tanh(beta qd)."""
    law, n = acceleration_law(chain), range(len(chain))
    inertial, names = inertial_texts(chain, law, payload)
    efforts = effort_texts(chain, motors, [f"tanh(beta * {motor_speed(chain, j)})" for j in n])
    body = spring_line(chain) + f"    a = accelerations(q, qd, {row(on_links(chain, efforts))}, {row(inertial)})\n"
    head = function_head(chain, *dict.fromkeys([*names, *drive_names(chain, motors)]))
    rates = rates_text(chain, motor_texts(chain, efforts))
    laws = {"accelerations": law.function}
    return {
        "derivative": function_of(f"def derivative{head}{body}    return {rates}\n", **laws),
        **port_functions(chain, head, body, laws),
    }


def sticking_functions(chain: Chain, motors: bool, payload: bool) -> Functions:
    """True dry friction: each joint has a mode, 1 and -1 slip, 0 sticks. One guard watches all: the chain is asked once."""
    law, n = contact_law(chain), range(len(chain))
    inertial, names = inertial_texts(chain, law, payload)
    settings = list(dict.fromkeys([*names, *drive_names(chain, motors)]))
    head = function_head(chain, "mode", *settings)
    efforts = effort_texts(chain, motors, [f"mode[{j}]" for j in n])
    body = spring_line(chain)
    body += f"    a = contacts(q, qd, {row(on_links(chain, efforts))}, {link_modes(chain, 'mode')}, {row(inertial)})\n"
    rates = rates_text(chain, motor_texts(chain, efforts, sticks=True))
    loads = load_texts(chain, motors)
    margins = [f"stiction_margin(mode[{j}], {motor_speed(chain, j)}, {loads[j]}, Fc{j + 1})" for j in n]
    least = "".join(f"    least = minimum(least, {text})\n" for text in margins[1:])
    laws = {"contacts": law.function, "stiction_margin": stiction_margin}
    plain = smooth_functions(chain, motors, payload)["derivative"].__dict__["__source__"]
    for j in n:
        plain = plain.replace(f"tanh(beta * {motor_speed(chain, j)})", f"sign({motor_speed(chain, j)})")
    return {
        "derivative": function_of(f"def derivative{head}{body}    return {rates}\n", **laws),
        **port_functions(chain, head, body, laws),
        "equations": function_of(
            plain.replace("def derivative", "def equations"), accelerations=acceleration_law(chain).function
        ),
        "guard_contact": function_of(f"def guard_contact{head}{body}    least = {margins[0]}\n{least}    return least\n", **laws),
        "reset_contact": function_of(reset_text(chain, head, motors, inertial), **laws),
    }


def link_modes(chain: Chain, modes: str) -> str:
    """The modes of the links: one behind a spring always slips, its motor may stick."""
    return row(["1.0" if j in chain.flexible else f"{modes}[{j}]" for j in range(len(chain))]) if chain.flexible else modes


def load_texts(chain: Chain, motors: bool) -> list[str]:
    """What dry friction has to hold at each joint that rests: by the law, or what is left of drive and spring at a motor."""
    free = effort_texts(chain, motors, ["0.0"] * len(chain))
    return [
        f"({free[j]} - s[{chain.flexible.index(j)}])" if j in chain.flexible else f"a[{j + len(chain)}]"
        for j in range(len(chain))
    ]


def reset_text(chain: Chain, head: str, motors: bool, inertial: Sequence[str]) -> str:
    """Joints that have come to rest stick; then, turn by turn, those that cannot hold what pulls at them slip.

    v are the speeds of the contacts after it, x those of the links, u those of motors behind springs.
    """
    count = len(chain)
    n = range(count)
    numbers = row(inertial)
    speed = [motor_speed(chain, j) for j in n]

    def later(texts: Sequence[str]) -> list[str]:
        return [text.replace("qd[", "x[").replace("wm[", "u[") for text in texts]

    before = row(on_links(chain, effort_texts(chain, motors, [f"mode[{j}]" for j in n])))
    after = row(on_links(chain, later(effort_texts(chain, motors, [f"modes[{j}]" for j in n]))))
    early, load = load_texts(chain, motors), later(load_texts(chain, motors))

    def slip(j: int) -> str:
        return f"(1.0 if {load[j]} > Fc{j + 1} else -1.0 if {load[j]} < -Fc{j + 1} else 0.0)"

    margins = [
        f"mode[{j}] * {speed[j]} if mode[{j}] != 0.0 else Fc{j + 1} - abs({early[j]}) if {speed[j]} == 0.0 else -abs({speed[j]})"
        for j in n
    ]
    # The contact that the guard has found is at its margin, whatever rounding says of it.
    rests = [f"mode[{j}] != 0.0 and (mode[{j}] * {speed[j]} <= 0.0 or m[{j}] <= least)" for j in n]
    modes = [f"sign(v[{j}]) if mode[{j}] == 0.0 else 0.0 if rests[{j}] else mode[{j}]" for j in n]
    lines = [
        *([f"s = {row(spring_texts(chain))}"] if chain.flexible else []),
        f"a = contacts(q, qd, {before}, {link_modes(chain, 'mode')}, {numbers})",
        f"m = {row(margins)}",
        f"least = {'min(' + ', '.join(f'm[{j}]' for j in n) + ')' if count > 1 else 'm[0]'}",
        f"rests = {row(rests)}",
        f"v = {row([f'0.0 if rests[{j}] else {speed[j]}' for j in n])}",
        f"x = {row([f'qd[{j}]' if j in chain.flexible else f'v[{j}]' for j in n])}",
        f"breaks = {row([f'mode[{j}] == 0.0 and v[{j}] == 0.0 and m[{j}] <= least' for j in n])}",
        f"modes = {row(modes)}",
    ]
    if chain.flexible:
        lines += [f"u = {row([f'v[{j}]' for j in chain.flexible])}", f"s = {row(later(spring_texts(chain)))}"]
    for turn in range(min(count, RELEASES) + 1):
        slips = [f"(sign({load[j]}) if breaks[{j}] else {slip(j)})" if turn == 0 else slip(j) for j in n]
        lines.append(f"a = contacts(q, x, {after}, {link_modes(chain, 'modes')}, {numbers})")
        lines.append(f"modes = {row([f'{slips[j]} if modes[{j}] == 0.0 and v[{j}] == 0.0 else modes[{j}]' for j in n])}")
    lines.append('return {"qd": x, "mode": modes' + (', "wm": u}' if chain.flexible else "}"))
    return f"def reset_contact{head}" + "".join(f"    {line}\n" for line in lines)


def joint_efforts(chain: Chain) -> Callable[..., Any]:
    """tau_joint = coupling' N tau, samples under each other."""

    def on_joints(tau: Any, ratios: Any) -> Any:
        import numpy as np

        torques = np.asarray(tau, dtype=float).reshape(len(tau), -1) * np.asarray(ratios)
        return torques @ np.array(chain.coupling) if chain.coupling else torques

    return on_joints
