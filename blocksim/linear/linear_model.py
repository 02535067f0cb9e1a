"""LinearModel: x' = A x + B u, y = C x + D u around an operating point, with names; its poles, zeros and frequency response."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import BlocksimError, DiagramError
from ..pictures.figures import blank_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..contract.arrays import ComplexArray, FloatArray
    from .operating import OperatingPoint

#: Columns and rows of a matrix that a page shows.
MOST_SHOWN = 8


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Small deviations from an operating point: x' = A x + B u, y = C x + D u, or x[k+1] = ... where `dt` is a sample time."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    operating_point: OperatingPoint | None  # None of a model from data, whose point are the means of its record
    dt: float | None = None
    note: str = ""  # what was held, and which entries are in doubt

    def __iter__(self) -> Iterator[FloatArray]:
        """A, B, C, D = model."""
        return iter((self.A, self.B, self.C, self.D))

    def poles(self) -> ComplexArray:
        """Eigenvalues of A, the slowest first."""
        import numpy as np

        poles: ComplexArray = np.linalg.eigvals(self.A).astype(complex)
        speed = np.abs(poles) if self.dt is None else -np.abs(poles)
        return poles[np.lexsort((poles.imag, np.round(speed, 12)))]

    def zeros(self) -> ComplexArray:
        """Invariant zeros: the s where [A - s I, B; C, D] loses rank. As many outputs as inputs are wanted."""
        import numpy as np
        from scipy.linalg import eig

        if len(self.inputs) != len(self.outputs):
            raise DiagramError(
                f"zeros need as many outputs as inputs, found {len(self.outputs)} and {len(self.inputs)}; linearize one pair."
            )
        n, k = len(self.A), len(self.D)
        system = np.block([[self.A, self.B], [self.C, self.D]])
        mass = np.zeros((n + k, n + k))
        mass[:n, :n] = np.eye(n)
        alpha, beta = eig(system, mass, right=False, homogeneous_eigvals=True)
        finite = np.abs(beta) > 1e-12 * np.hypot(np.abs(alpha), np.abs(beta))
        zeros: ComplexArray = alpha[finite] / beta[finite]
        return zeros[np.lexsort((zeros.imag, np.round(np.abs(zeros), 12)))]

    def frequency_response(self, w: Any) -> ComplexArray:
        """G = C (s I - A)^-1 B + D at s = j w (z = exp(j w dt) when sampled), w in rad/s: complex [outputs, inputs, w].

        On a pole it is infinite.
        """
        import numpy as np

        w = np.atleast_1d(np.asarray(w, dtype=float))
        points = 1j * w if self.dt is None else np.exp(1j * w * self.dt)
        response = np.empty((len(self.outputs), len(self.inputs), len(w)), dtype=complex)
        eye = np.eye(len(self.A))
        for k, s in enumerate(points):
            try:
                response[:, :, k] = self.C @ np.linalg.solve(s * eye - self.A, self.B.astype(complex)) + self.D
            except np.linalg.LinAlgError:
                response[:, :, k] = np.inf
        return response

    def frequencies(self, count: int = 400) -> FloatArray:
        """Frequencies [rad/s] that show this model: from a decade below its slowest pole to one above its fastest."""
        import numpy as np

        values = self.poles() if self.dt is None else np.log(self.poles()[np.abs(self.poles()) > 1e-12]) / self.dt
        sizes = [float(v) for v in np.abs(values) if 1e-6 < v < 1e9] or [1.0]
        top = 10 * max(sizes) if self.dt is None else np.pi / self.dt
        return np.geomspace(min(min(sizes) / 10, top / 100), top, count)

    def to_scipy(self) -> Any:
        """scipy.signal.StateSpace, continuous or sampled (dlti)."""
        from scipy import signal

        return signal.StateSpace(*self) if self.dt is None else signal.StateSpace(*self, dt=self.dt)

    def to_control(self) -> Any:
        """control.StateSpace of python-control, with the names ('.' becomes '_', its own separator)."""
        try:
            import control
        except ImportError:
            raise BlocksimError("this needs python-control, which is not installed: pip install blocksim[control]") from None
        names = {k: [n.replace(".", "_") for n in getattr(self, k)] for k in ("states", "inputs", "outputs")}
        return control.ss(*self, 0 if self.dt is None else self.dt, remove_useless_states=False, **names)

    def __repr__(self) -> str:
        equation = "x' = A x + B u" if self.dt is None else f"x[k+1] = A x[k] + B u[k], dt = {self.dt:g} s"
        lines = [f"LinearModel {equation}: {len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"]
        moved = [f"d {s}" if self.dt is None else f"next {s}" for s in self.states]
        lines += matrix_lines("A", self.A, moved, self.states) + matrix_lines("B", self.B, moved, self.inputs)
        lines += matrix_lines("C", self.C, self.outputs, self.states) + matrix_lines("D", self.D, self.outputs, self.inputs)
        lines.append(
            "poles: "
            + ", ".join(complex_text(p) for p in self.poles()[:MOST_SHOWN])
            + (", ..." if len(self.A) > MOST_SHOWN else "")
        )
        return "\n".join([*lines, *([f"note: {self.note}"] if self.note else [])])


def complex_text(value: complex) -> str:
    return f"{value.real:.5g}" if value.imag == 0 else f"{value.real:.5g}{value.imag:+.5g}j"


def matrix_lines(title: str, matrix: FloatArray, rows: list[str], columns: list[str]) -> list[str]:
    """A matrix with the names of its rows and columns; what a page cannot hold is left out."""
    cells = [[title, *columns[:MOST_SHOWN]]]
    cells += [[row, *(f"{v:.5g}" for v in line[:MOST_SHOWN])] for row, line in zip(rows[:MOST_SHOWN], matrix, strict=False)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    text = [
        "  " + "  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:], strict=True))]) for r in cells
    ]
    return text + ([f"  ... {matrix.shape[0]} x {matrix.shape[1]} in all"] if max(matrix.shape) > MOST_SHOWN else [])


def bode(model: LinearModel, path: str | os.PathLike[str] | None = None, w: Any = None) -> Figure:
    """Magnitude [dB] and phase [deg] of every output over every input; with a path, also written (.svg, .png, .pdf)."""
    import numpy as np

    from ..pictures.palette import COLOURS
    from ..pictures.plots import suffix, write_figure

    kind = suffix(path) if path is not None else ""
    w = model.frequencies() if w is None else np.asarray(w, dtype=float)
    response = model.frequency_response(w)
    figure = blank_figure(8.0, 5.0, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    pairs = [(i, j) for j in range(len(model.inputs)) for i in range(len(model.outputs))]
    for n, (i, j) in enumerate(pairs):
        style: dict[str, Any] = {"color": COLOURS[n % 4], "linewidth": 1.3, "linestyle": ("-", "--", ":", "-.")[n // 4 % 4]}
        with np.errstate(divide="ignore"):
            upper.semilogx(w, 20 * np.log10(np.abs(response[i, j])), label=f"{model.outputs[i]} / {model.inputs[j]}", **style)
        lower.semilogx(w, np.degrees(np.unwrap(np.angle(response[i, j]))), **style)
    for axes, caption in ((upper, "magnitude [dB]"), (lower, "phase [deg]")):
        axes.set_ylabel(caption, fontsize=9)
        axes.grid(True, which="both", linewidth=0.4, color="#dddddd")
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.0)
        if model.dt is not None:
            axes.axvline(np.pi / model.dt, color="#858585", linewidth=0.8)  # the Nyquist frequency
    lower.set_xlabel("frequency [rad/s]", fontsize=9)
    lower.yaxis.set_major_locator(degrees())
    for text in upper.legend(fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)
    if path is not None:
        write_figure(figure, str(path), kind)
    return figure


def degrees() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=7, steps=[1, 1.5, 3, 4.5, 9, 10])
