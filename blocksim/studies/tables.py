"""The tables of a study: estimates, scores, budget of errors, signals and failures, sorted by run whatever order they came in.

Read run by run from the store, so that memory holds the numbers of one row of the study at a time, and no text of many runs.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contract.block import Block
from ..diagram.diagram import walk
from ..estimation.estimates import NAN
from ..records.writing import cell_text, text_cell, writing
from ..simulation.elements import split_element
from . import budget as ablation
from . import scores
from .method_results import MethodResults, RunsOfRow, gathered, seen_blocks

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from .plan import Plan, PlanRow
    from .store import Store

ESTIMATES = ("repeat", "seed", "parameter", "unit", "value", "std", "truth", "error", "z", "low", "high", "crb_std", "nees",
             "converged", "reason")  # fmt: skip
SIGNALS = ("repeat", "seed", "signal", "value")
SIGNAL_SCORES = ("signal", "n", "mean", "mean_low", "mean_high", "std", "std_low", "std_high", "min", "max")
OWN_COLUMNS = {
    "method",
    "ablation",
    "point",
    *ESTIMATES,
    *scores.SCORE_COLUMNS,
    *ablation.BUDGET_COLUMNS,
    *SIGNALS,
    *SIGNAL_SCORES,
}
#: Settings that vary together and are all shown; of more, the first stands for them.
MOST_TOGETHER = 3
#: The files a study may write beside its results.
TABLES = ("estimates.csv", "scores.csv", "budget.csv", "signals.csv", "signal_scores.csv")


@dataclass
class Remarks:
    """What tables do not show: every failed or unconverged run with its seed and reason, and how often each method warned."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    unconverged: list[dict[str, Any]] = field(default_factory=list)
    warnings: dict[str, dict[str, Any]] = field(default_factory=dict)  # by method: runs with a warning, and the first
    pairs: int = 0  # repetitions that came to an end and could be compared with a first one
    random: bool = False  # whether any two of them differ

    def note(self, method: str, results: MethodResults) -> None:
        if results.warning_runs:
            warning = self.warnings.setdefault(method, {"runs": 0, "first": results.warning})
            warning["runs"] += results.warning_runs
        self.compare(results.values[results.good])

    def compare(self, values: FloatArray) -> None:
        """Repetitions are rows."""
        self.pairs += max(len(values) - 1, 0)
        self.random = self.random or bool(len(values) > 1 and (values[1:] != values[0])[np.isfinite(values[1:])].any())


def write_tables(plan: Plan, store: Store, folder: Path) -> Remarks:
    """Write every table there is something for."""
    remarks = Remarks()
    with writing(folder), Sheets(folder, plan) as sheets:
        blocks = seen_blocks(plan, store)
        errors: dict[tuple[int, int, str], dict[str, MethodResults]] = {}
        for number in range(plan.rows):
            row = plan.row(number)
            runs = RunsOfRow(store, number, plan.repeat)
            for values in write_signals(plan, row, runs, sheets):
                remarks.compare(values)
            for block, (names, units) in blocks[row.variant].items():
                results = gathered(runs, block, names, units, plan.repeat)
                write_estimates(plan, row, block, runs, results, sheets)
                write_scores(plan, row, block, results, sheets)
                remarks.failures += run_lines(plan, row, block, results.failures)
                remarks.unconverged += run_lines(plan, row, block, results.unconverged)
                remarks.note(plan.label(row.variant, block), results)
                errors.setdefault((row.variant, row.point, block), {})[plan.arms[row.arm][0]] = results
            if not blocks[row.variant]:
                remarks.failures += signal_failures(plan, row, runs)
            if row.arm == len(plan.arms) - 1:
                write_budgets(plan, row, errors, sheets)
                errors.clear()
    return remarks


# ---- from arrays to tables ----------------------------------------------------------------------------------------------


class Sheets:
    """The CSV files being written: to a name of their own first, put in place when all are done."""

    def __init__(self, folder: Path, plan: Plan):
        self.folder, self.plan = folder, plan
        self.swept = swept_columns(plan)
        self.open: dict[str, Any] = {}
        self.stack = ExitStack()

    def put(self, name: str, columns: Iterable[str], values: dict[str, Any]) -> None:
        if name not in self.open:
            stream = self.stack.enter_context((self.folder / f"{name}.new").open("w", encoding="utf-8", newline=""))
            self.open[name] = csv.writer(stream, lineterminator="\n"), list(columns)
            self.open[name][0].writerow(map(text_cell, self.open[name][1]))
        writer, columns_before = self.open[name]
        writer.writerow([csv_cell(values.get(column, "")) for column in columns_before])

    def head(self, row: PlanRow, method: str | None = None) -> dict[str, Any]:
        """What the lines of every table start with."""
        point = self.plan.points[row.point]
        swept = {column: point[name] for name, column in self.swept.items()}
        method_column = {} if method is None else {"method": method}
        return {**method_column, "ablation": self.plan.arms[row.arm][0], "point": row.point, **swept}

    def __enter__(self) -> Sheets:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self.stack.close()
        for name in TABLES:
            if kind is None and name in self.open:
                os.replace(self.folder / f"{name}.new", self.folder / name)
            else:
                (self.folder / (name if kind is None else f"{name}.new")).unlink(missing_ok=True)


def swept_columns(plan: Plan) -> dict[str, str]:
    """The column of each swept setting: its name, marked where a column of ours has that name."""
    return {name: f"{name}_swept" if name in OWN_COLUMNS else name for axis in plan.spec.axes for name in axis.names}


def shown_columns(plan: Plan) -> list[str]:
    """The swept settings that tell points apart for people: of many that vary together, the first."""
    columns = swept_columns(plan)
    return [columns[n] for axis in plan.spec.axes for n in (axis.names if len(axis.names) <= MOST_TOGETHER else axis.names[:1])]


def units_of(plan: Plan) -> dict[str, str]:
    """The units of the swept settings, by column; a parameter of the file has that of the settings it stands for by itself."""
    diagram = plan.variants[0].diagram
    blocks = {path: node.block for path, node in walk(diagram) if isinstance(node.block, Block)}
    result = {}
    for name, column in swept_columns(plan).items():
        path, _, key = split_element(name)[0].rpartition(".")
        settings = [(path, key)]
        if not path and diagram.spec is not None:
            plain, entries = f"${{{name}}}", diagram.spec.blocks.values()
            settings = [(block.name, key) for block in entries for key, value in block.settings.items() if value == plain]
        units = {blocks[path].declared[key].unit for path, key in settings if path in blocks and key in blocks[path].declared}
        if len(units) == 1:
            result[column] = units.pop()
    return result


def csv_cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value)
    if isinstance(value, str):
        return text_cell(value)
    return repr(float(value)) if isinstance(value, float) else str(value)


def write_estimates(plan: Plan, row: PlanRow, block: str, runs: RunsOfRow, results: MethodResults, sheets: Sheets) -> None:
    head = sheets.head(row, plan.label(row.variant, block))
    for k, result in runs.items():
        if not np.isfinite(results.values[k]).any():
            continue  # it stands among the failures
        for column, name in enumerate(results.names):
            value, std, truth = (float(a[k, column]) for a in (results.values, results.stds, results.truths))
            half = float(results.quantiles[k, column]) * std
            error = value - truth
            line = {"repeat": k, "seed": plan.seeds[k], "parameter": name, "unit": results.units[column]}
            line |= {"value": value, "std": std, "truth": truth, "error": error, "z": error / std if std > 0 else NAN}
            line |= {"low": value - half, "high": value + half, "crb_std": float(results.bounds[k, column])}
            line["nees"] = float(results.nees[k])
            line["converged"] = k not in results.unconverged
            line["reason"] = results.failures.get(k) or result["estimates"][block].get("reason", "")
            sheets.put("estimates.csv", [*head, *ESTIMATES], head | line)


def write_scores(plan: Plan, row: PlanRow, block: str, results: MethodResults, sheets: Sheets) -> None:
    head = sheets.head(row, plan.label(row.variant, block))
    good = results.good & np.isfinite(results.values).any(axis=1) if results.names else results.good
    shared: dict[str, Any] = {"runs": results.runs, "failures": len(results.failures), "unconverged": len(results.unconverged)}
    shared |= scores.score_nees(results.nees[good], results.dimension)
    columns = [*head, "parameter", *scores.SCORE_COLUMNS]
    for column, name in enumerate(results.names):
        used = good & np.isfinite(results.values[:, column])
        arrays = (a[used, column] for a in (results.values, results.truths, results.stds, results.quantiles, results.bounds))
        line = {"parameter": name, "unit": results.units[column], **shared, **scores.score_runs(*arrays)}
        line["not_learnt"] = int(np.count_nonzero(results.still[used, column] == 1))
        sheets.put("scores.csv", columns, head | line)
    if not results.names:
        sheets.put("scores.csv", columns, head | shared | {"n": 0, "bias_significant": False, "not_learnt": 0})


def write_budgets(plan: Plan, row: PlanRow, errors: dict[tuple[int, int, str], dict[str, MethodResults]], sheets: Sheets) -> None:
    """The error budget of every parameter at one point of the sweep."""
    if not plan.spec.ablate:
        return
    for (variant, _, block), by_arm in errors.items():
        head = {k: v for k, v in sheets.head(row, plan.label(variant, block)).items() if k != "ablation"}
        full = by_arm[ablation.FULL]
        for column, name in enumerate(full.names):
            arms = {arm: error_of(by_arm[stands], name) for arm, stands in plan.stands.items()}
            truth = scores.mean_of(full.truths[full.good, column])
            for line in ablation.budget(arms, truth):
                line = {"parameter": name, "unit": full.units[column], **line}
                sheets.put("budget.csv", [*head, "parameter", "unit", *ablation.BUDGET_COLUMNS], head | line)


def error_of(results: MethodResults, name: str) -> FloatArray:
    """The errors of one parameter by repetition, nan where the run failed."""
    if name not in results.names:
        return np.full(len(results.values), NAN)
    column = results.names.index(name)
    return np.where(results.good, results.values[:, column] - results.truths[:, column], NAN)


def write_signals(plan: Plan, row: PlanRow, runs: RunsOfRow, sheets: Sheets) -> list[FloatArray]:
    """Gives the values of each signal, too."""
    head = sheets.head(row, plan.variants[row.variant].name) if plan.spec.methods else sheets.head(row)
    columns: dict[str, list[float]] = {}
    for k, result in runs.items():
        for label, value in result.get("signals", {}).items():
            columns.setdefault(label, []).append(value)
            line = {"repeat": k, "seed": plan.seeds[k], "signal": label, "value": value}
            sheets.put("signals.csv", [*head, *SIGNALS], head | line)
    for label, values in columns.items():
        x = np.array(values)
        line = {"signal": label, "n": len(x), **scores.interval_columns("mean", scores.mean_interval(x))}
        line |= scores.interval_columns("std", scores.std_interval(x)) | {"min": float(x.min()), "max": float(x.max())}
        sheets.put("signal_scores.csv", [*head, *SIGNAL_SCORES], head | line)
    return [np.array(values) for values in columns.values()]


def run_lines(plan: Plan, row: PlanRow, block: str, reasons: dict[int, str]) -> Iterator[dict[str, Any]]:
    """The runs of a method that are in no score, each with why."""
    for k, reason in sorted(reasons.items()):
        yield failure_line(plan, row, plan.label(row.variant, block), k, reason)


def signal_failures(plan: Plan, row: PlanRow, runs: RunsOfRow) -> Iterator[dict[str, Any]]:
    for k, result in runs.items():
        if "failure" in result and "signals" not in result:
            yield failure_line(plan, row, plan.variants[row.variant].name, k, result["failure"])


def failure_line(plan: Plan, row: PlanRow, method: str, k: int, reason: str) -> dict[str, Any]:
    where = {"method": method, "ablation": plan.arms[row.arm][0], "point": row.point}
    return {**where, "repeat": k, "seed": plan.seeds[k], "changes": plan.changes(row), "reason": reason}


# ---- reading them again -------------------------------------------------------------------------------------------------


def read_table(path: Path) -> Any:
    """A table as a pandas DataFrame where pandas is installed, else as a list of dicts with the same columns."""
    rows: list[dict[str, Any]] = []
    columns: list[str] = []
    if path.exists():
        with open(path, encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            columns = [cell_text(head) for head in reader.fieldnames or ()]
            reader.fieldnames = columns
            rows = [{key: cell_value(key, text) for key, text in row.items()} for row in reader]
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows, columns=columns)


def write_parquet_tables(folder: Path) -> None:
    """The same tables as .parquet, piece by piece, where pyarrow is installed; what it cannot type stays CSV alone."""
    try:
        from pyarrow import ArrowInvalid, csv, parquet, string
    except ImportError:
        return
    words = csv.ConvertOptions(column_types=dict.fromkeys(TEXT_COLUMNS, string()))
    for name in TABLES:
        path, target = folder / name, (folder / name).with_suffix(".parquet")
        target.unlink(missing_ok=True)
        if not path.is_file():
            continue
        try:
            with csv.open_csv(path, convert_options=words) as source, parquet.ParquetWriter(target, source.schema) as sink:
                for piece in source:
                    sink.write_batch(piece)
        except ArrowInvalid:
            target.unlink(missing_ok=True)


TEXT_COLUMNS = {"method", "ablation", "parameter", "unit", "reason", "defect", "signal"}


def cell_value(column: str, text: str) -> Any:
    if column in TEXT_COLUMNS:
        return cell_text(text)
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return cell_text(text) if text else NAN
