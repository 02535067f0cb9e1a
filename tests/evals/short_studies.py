"""A study of a paper, made short: the file itself with fewer repetitions and points, and what its tables say."""

from __future__ import annotations

import blocksim as bs
from blocksim.diagram.files import bundled_root
from blocksim.studies.file import load_study, parse_study, study_yaml


def study_path(name):
    """The file of a bundled study: 'tout2022/fig6'."""
    paper, study = name.split("/")
    return bundled_root() / paper / "studies" / f"{study}.yaml"


def short(name, methods=(), **keys):
    """The result of a bundled study with these keys instead of its own (None: without), and only some of its methods."""
    path = study_path(name)
    plain = {key: value for key, value in {**load_study(path).plain, **keys}.items() if value is not None}
    if methods:
        plain["methods"] = {method: plain["methods"][method] for method in methods}
    spec = parse_study(study_yaml(plain), str(path))  # other diagrams are still found beside the file
    return bs.run_study(spec, jobs=1, progress=False, report=False)


def lines(table):
    return table.to_dict("records") if hasattr(table, "to_dict") else table


def scores(result, *columns):
    """Lines of the scores by method, parameter and these columns."""
    return {(line["method"], line["parameter"], *(line[c] for c in columns)): line for line in lines(result.scores)}


def points(name, **chosen):
    """The zipped settings of a study, at some values of one of them: points('thesis/friction', input=['u_sin'])."""
    ((key, values),) = chosen.items()
    zipped = load_study(study_path(name)).plain["zip"]
    kept = [zipped[key].index(value) for value in values]
    return {setting: [given[i] for i in kept] for setting, given in zipped.items()}
