"""The inverse model of a robot as one function: what its motors have to give for a motion, friction and motors included."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .chain import Chain
from .equations import function_of, inertial_texts, row
from .shape import RobotShape
from .texts import effort_law


@functools.lru_cache(maxsize=64)
def inverse_law(shape: RobotShape) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """inverse(q, v, a, p) and the settings p in their order; dry friction is smooth. Springs are taken for stiff."""
    chain, law = shape.chain, effort_law(shape.chain)
    inertial, names = inertial_texts(chain, law, shape.payload)
    joints = [joint_text(chain, j) for j in range(len(chain))]
    settings = dict.fromkeys([*names, *(name for _, own in joints for name in own), "beta"])
    if shape.motors:
        settings |= dict.fromkeys(f"N{j + 1}" for j in range(len(chain)))
    lines = [f"{name} = p[{k}]" for k, name in enumerate(settings)]
    lines += [f"m = efforts(q, v, a, {row(inertial)})", f"e = {row([text for text, _ in joints])}"]
    lines.append(f"return {row(motor_shares(chain)) if shape.motors else 'e'}")
    text = "def inverse(q, v, a, p):\n" + "".join(f"    {line}\n" for line in lines)
    return function_of(text, efforts=law.function), tuple(settings)


def joint_text(chain: Chain, j: int) -> tuple[str, list[str]]:
    """What drives joint j: its links' share, its motor and friction, and those of motors it turns with others."""
    names = [f"{symbol}{j + 1}" for symbol in ("Ia", "Fv", "Fc", "off")]
    text = f"m[{j}] + Ia{j + 1} * a[{j}] + Fv{j + 1} * v[{j}] + Fc{j + 1} * tanh(beta * v[{j}]) + off{j + 1}"
    for k in chain.coupled:
        shares = chain.coupling[k]
        if not shares[j]:
            continue
        names += [f"{symbol}{k + 1}" for symbol in ("Iam", "Fvm", "Fcm")]
        others = [i for i in range(len(chain)) if shares[i] and i != j]
        rest = " + ".join(f"{shares[i]!r} * (Iam{k + 1} * a[{i}] + Fvm{k + 1} * v[{i}])" for i in others)
        every = " + ".join(f"{shares[i]!r} * v[{i}]" for i in range(len(chain)) if shares[i])
        text += f" + {shares[j]!r} * ({rest} + Fcm{k + 1} * tanh(beta * ({every})))"
    return text, names


def motor_shares(chain: Chain) -> list[str]:
    """Torques of motors: tau_joint = coupling' N tau, solved."""
    n = range(len(chain))
    inverse = np.linalg.inv(np.array(chain.coupling).T) if chain.coupling else np.eye(len(chain))
    sums = [" + ".join(f"{float(inverse[k, j])!r} * e[{j}]" for j in n if abs(inverse[k, j]) > 1e-12) for k in n]
    return [f"({text}) / N{k + 1}" for k, text in enumerate(sums)]


@functools.lru_cache(maxsize=64)
def control_law(shape: RobotShape, form: str) -> Callable[..., Any]:
    """Computed torque, or the model at the reference with a PD beside it."""
    n = len(shape.chain)
    lines = [f"u = {row([f'gains[{j}] * (q_ref[{j}] - q[{j}]) + gains[{n + j}] * (qd_ref[{j}] - qd[{j}])' for j in range(n)])}"]
    if form == "feedforward":
        lines.append("e = inverse(q_ref, qd_ref, qdd_ref, values)")
        lines.append(f"return {row([f'e[{j}] + u[{j}]' for j in range(n)])}")
    else:
        lines.append(f"return inverse(q, qd, {row([f'qdd_ref[{j}] + u[{j}]' for j in range(n)])}, values)")
    text = "def control(q_ref, qd_ref, qdd_ref, q, qd, gains, values):\n" + "".join(f"    {line}\n" for line in lines)
    return function_of(text, inverse=inverse_law(shape)[0])


def inverse_values(names: tuple[str, ...], settings: Mapping[str, Any]) -> np.ndarray:
    return np.array([float(settings[name]) for name in names])
