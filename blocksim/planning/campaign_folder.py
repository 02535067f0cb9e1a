"""CampaignFolder: a campaign kept in a folder between experiments, since days may lie between two of them.

folder/campaign.json     what is believed, and the unknowns of every design
folder/1/                the first design: source.yaml, diagram.yaml; and measured.npz once it was measured
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DiagramError, RecordError
from ..records.writing import make_folder, write_json, writing
from ..running.identify import Reading, read_measured
from .fitting import BatchFit, Measured
from .sequential import Campaign, Stage

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..records.record import Record
    from .design.design import DesignResult

STATE_FILE, MEASURED_FILE = "campaign.json", "measured.npz"
#: A record whose rows lie further from those of the design, as a share of the interval, is on another grid.
OFF_GRID = 0.01
#: A source that was measured this far from the designed one, relative in the mean square, gets a note.
OTHER_SOURCE = 0.05


class CampaignFolder:
    """A campaign on disk: `design` writes the next experiment, `learn` takes the record of the one that waits for it."""

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any], folder: str | os.PathLike[str]):
        self.source, self.folder = source, Path(folder)
        self.state: dict[str, Any] = {"format": 1, "guess": {}, "experiments": []}
        path = self.folder / STATE_FILE
        if path.is_file():
            self.state = json.loads(path.read_text(encoding="utf-8"))
        self.campaign = Campaign(source)
        self.restore()

    @property
    def experiments(self) -> list[dict[str, Any]]:
        experiments: list[dict[str, Any]] = self.state["experiments"]
        return experiments

    @property
    def waiting(self) -> dict[str, Any] | None:
        """The experiment that is designed and not yet measured."""
        last = self.experiments[-1] if self.experiments else None
        return last if last is not None and "values" not in last else None

    def restore(self) -> None:
        """What was believed when the folder was left."""
        import numpy as np

        campaign = self.campaign
        campaign.values |= self.state["guess"]
        for entry in self.experiments:
            x = np.array(entry["unknowns"], float)
            if len(x) != campaign.bench.unknowns:
                raise DiagramError(
                    f"'{self.folder / STATE_FILE}' has a design of {len(x)} unknowns, this file has {campaign.bench.unknowns}: "
                    "it belongs to another one."
                )
            if "values" not in entry:
                continue
            with np.load(self.folder / entry["folder"] / MEASURED_FILE) as data:
                campaign.measured.append(Measured(x, data["y"], {name: data[name] for name in campaign.bench.inputs}))
            fit = BatchFit(dict(entry["values"]), np.array(entry["information"], float), entry["misfit"], True)
            campaign.last, campaign.values = fit, dict(fit.values)
            campaign.stages.append(Stage(None, campaign.values, campaign.relative_std, fit.misfit))

    def guess(self, values: Mapping[str, float]) -> None:
        """What is believed at first; refused once something was measured."""
        strange = [name for name in values if name not in self.campaign.bench.names]
        if strange:
            raise DiagramError(f"guess: '{strange[0]}' is none of the parameters of the design.")
        if values and self.campaign.measured:
            raise DiagramError(f"'{self.folder}' has measured experiments, which say more than a guess: leave --guess out.")
        self.state["guess"] |= values
        self.campaign.values |= values

    def ask(self, **goals: float | None) -> None:
        """accuracy and budget, kept for the calls that follow."""
        self.state |= {key: value for key, value in goals.items() if value is not None}

    def ending(self) -> str:
        """Why no further experiment is needed; '' where one is."""
        accuracy, budget, campaign = self.state.get("accuracy"), self.state.get("budget"), self.campaign
        if accuracy is not None and max(campaign.relative_std.values()) <= accuracy:
            return "accurate enough"
        if budget is not None and campaign.seconds + campaign.bench.duration > budget:
            return "the budget is used"
        return ""

    def design(self) -> tuple[Path, DesignResult]:
        """The next experiment, written to a folder of its own."""
        result = self.campaign.design()
        name = str(len(self.experiments) + 1)
        make_folder(self.folder)
        place = result.write(self.folder / name)
        self.experiments.append({"folder": name, "unknowns": result.x.tolist()})
        self.save()
        return place, result

    def learn(self, record: str | os.PathLike[str] | Record, reading: Reading) -> tuple[BatchFit, list[str]]:
        """Fit all that was measured, this record included, and keep both; with notes on what was read."""
        import numpy as np

        entry = self.waiting
        if entry is None:
            raise DiagramError(f"no experiment of '{self.folder}' waits for a record: design one first, without --record.")
        place, x = self.folder / entry["folder"], np.array(entry["unknowns"], float)
        diagram = place / "diagram.yaml"
        data = read_measured(str(diagram), record, None, reading)
        bench = self.campaign.bench
        signals = {name: self.on_grid(data.record, name, x) for name in (*bench.outputs, *bench.inputs)}
        notes = [*data.notes, *self.other_sources(data.record, diagram)]
        fit = self.campaign.learn_at(x, signals)
        measured = self.campaign.measured[-1]
        arrays: dict[str, Any] = {"y": measured.y, **measured.known}
        with writing(place):
            np.savez(place / MEASURED_FILE, **arrays)
        entry |= {"values": fit.values, "information": fit.information.tolist(), "misfit": fit.misfit}
        self.save()
        return fit, notes

    def save(self) -> None:
        write_json(self.folder / STATE_FILE, self.state)

    def on_grid(self, record: Record, name: str, x: FloatArray) -> FloatArray:
        """An output at the times of the design: a record may be longer, and its rows must meet them."""
        import numpy as np

        bench = self.campaign.bench
        if name not in record:
            what = "reads" if name in bench.outputs else "takes as known"
            raise RecordError(f"the record has no '{name}', which the design {what}. Map its column: --map {name}=COLUMN.")
        t, values = record.time(name), record[name]
        times = bench.t[: self.campaign.rows(x)]
        places = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
        places -= times - t[places - 1] < t[places] - times
        if np.abs(t[places] - times).max() > OFF_GRID * bench.interval:
            raise RecordError(
                f"'{name}' was measured from {t[0]:g} to {t[-1]:g} s every {np.median(np.diff(t)):g} s; the design is read from "
                f"{times[0]:g} to {times[-1]:g} s every {bench.interval:g} s. Say --resample {bench.interval:g}, or "
                "measure on that grid."
            )
        return np.asarray(values[places], float)

    def other_sources(self, record: Record, diagram: Path) -> list[str]:
        """Notes on sources that the record holds, and that were not what was designed."""
        import numpy as np

        from ..running.simulate import simulate

        notes = []
        names = [f for f in self.campaign.spec.vary if f in self.campaign.bench.diagram.nodes]
        measured = [name for name in record if name.partition(".")[0] in names]
        if not measured:
            return []
        played = simulate(str(diagram))
        for name in (name for name in measured if name in played):
            if played[name].ndim > 1:
                continue
            inside = record.time(name) <= played.time(name)[-1]
            ours = np.interp(record.time(name)[inside], played.time(name), played[name])
            apart = float(np.linalg.norm(record[name][inside] - ours) / (np.linalg.norm(ours) or 1.0))
            if apart > OTHER_SOURCE:
                notes.append(f"'{name}' as measured is {100 * apart:.2g} % away from the design: was it applied, and on time?")
        return notes
