"""The first line of a block's documentation as a formula: 'J qdd = tau - Fv qd' -> J \\ddot{q} = \\tau - F_{v} \\dot{q}."""

from __future__ import annotations

import re
from collections.abc import Iterable

GREEK = ("alpha", "beta", "gamma", "delta", "theta", "phi", "psi", "sigma", "eta", "tau", "pi", "kappa")
FUNCTIONS = {"sin", "cos", "tanh", "exp", "min", "max"}
NAMES = {"sign", "round", "mean", "sum", "num", "den", "integral"}
MARKS = {"...": r"\dots ", "<-": r"\leftarrow ", ">=": r"\ge ", "<=": r"\le ", "±": r"\pm ", "*": r"\, ", "+=": r"\mathrel{+}= "}
PROSE = re.compile(r"\b(or|at|of|by|is|in|so|and)\b")
INDEXED = re.compile(rf"([A-Za-z]|{'|'.join(GREEK)})([a-z]|tau|\d+|[a-z]\d)")
TOKEN = re.compile(r"`[^`]*`|[A-Za-z_][A-Za-z_0-9]*'*|\d+(?:\.\d+)?|\.\.\.|<-|>=|<=|\+=|\s+|.")


def formula(line: str, names: Iterable[str] = ()) -> tuple[str, str] | None:
    """The LaTeX of the equations a line begins with, and the words after them; None where it is a sentence.

    `names` are the block's own: ordinary words of the language among them are symbols.
    """
    text = re.split(r":\s|:$|;", line.rstrip("."), maxsplit=1)[0]
    if " = " in text and PROSE.search(text.split(" = ")[0]):
        return None
    clauses = clauses_of(text)
    symbols = {*GREEK, *NAMES, *FUNCTIONS, *names}
    count = 0
    for clause in clauses:
        words = [word for word in re.findall(r"[A-Za-z]{3,}", re.sub(r"`[^`]*`", "x", clause)) if not known(word, symbols)]
        if words or "`" in clause or PROSE.search(clause):
            break
        count += 1
    equations = ", ".join(clauses[:count])
    if not re.search(r"=|<-|^min ", equations) or equations.count("(") != equations.count(")"):
        return None
    rest = line[len(equations) :].lstrip(" ,:;.")
    if rest[:1].isdigit():
        return None
    tokens = TOKEN.findall(equations.replace("de/dt", "e'").replace("_k+1", "_kplus"))
    afters = [*tokens[1:], ""]
    latex = powers("".join(latex_of(token, after) for token, after in zip(tokens, afters, strict=True)))
    symbol = re.match(r"[A-Za-z](_\w+|\[|\b)", rest) and not rest.startswith(("a ", "A "))
    return latex, f"where {rest}" if symbol else rest[:1].upper() + rest[1:]


def clauses_of(text: str) -> list[str]:
    """The parts between commas that stand outside brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def known(word: str, symbols: set[str]) -> bool:
    return word in symbols or word in ("qdd", "gtau", "ref", "hat") or bool(re.fullmatch(r"[a-z]{1,2}d{1,2}", word))


def latex_of(token: str, after: str) -> str:
    """One word, number or sign."""
    if token.startswith("`"):
        return rf"\mathrm{{{token.strip('`')}}} "
    if token in MARKS:
        return MARKS[token]
    if token.isspace():
        return r"\," if token == " " else " "
    if re.match(r"[A-Za-z_]", token):
        return variable(token.rstrip("'"), len(token) - len(token.rstrip("'")), after)
    return {"{": r"\{", "}": r"\}", "%": r"\%", "#": r"\#", "&": r"\&"}.get(token, token)


def variable(name: str, primes: int, after: str) -> str:
    """A name with its dots, hat and index."""
    if name in FUNCTIONS:
        return rf"\{name} "
    if name in NAMES:
        return {"sum": r"\sum ", "integral": r"\int "}.get(name, rf"\operatorname{{{name}}}")
    base, _, index = name.partition("_")
    hat = index == "hat"
    index = "" if hat else index
    dots = 0
    if base == "sum":
        return rf"\sum_{{{index}}} "
    if base in ("jw", "ff"):
        return {"jw": r"j\omega ", "ff": r"\mathrm{ff}"}[base]
    if match := re.fullmatch(r"(q|phi|x)(d{1,2})", base):
        base, dots = match[1], len(match[2])
    elif not index and base not in GREEK and (match := INDEXED.fullmatch(base)):
        base, index = match[1], match[2]
    letter = letters(base)
    if hat:
        letter = rf"\hat{{{letter}}}"
    transposed = primes == 1 and base.isupper() and not after.startswith(("(", "^"))
    dots += primes if primes and not base.isupper() else 0
    if dots:
        letter = rf"{{{[None, chr(92) + 'dot', chr(92) + 'ddot', chr(92) + 'dddot'][min(dots, 3)]}{{{letter}}}}}"
    if index:
        letter = rf"{letter}_{{{letters(index)}}}"
    if transposed:
        return rf"{letter}^{{\mathsf{{T}}}}"
    return letter + ("'" * primes if primes and base.isupper() else "") + (" " if letter.startswith("\\") and not index else "")


def letters(name: str) -> str:
    if name == "kplus":
        return "k+1"
    if name in GREEK:
        return f"\\{name}"
    return name if len(name) == 1 or name.isdigit() else rf"\mathrm{{{name.replace('_', ' ')}}}"


def powers(text: str) -> str:
    """Groups after ^ in braces: ^-1, ^(n-1), ^T."""
    text = re.sub(r"\^\(([^()]*)\)", r"^{\1}", text)
    return re.sub(r"\^(-?\d+|[A-Za-z])(?![}\w])", r"^{\1}", text)
