"""estimates.json from a stranger, or damaged: one error in words, whatever is wrong with it."""

from __future__ import annotations

import json

import pytest

from blocksim.errors import RecordError
from blocksim.estimation.estimate_files import read_estimates

GOOD = {"method": "ls", "parameters": {"J": {"value": 1.0, "std": 0.1, "truth": None, "unit": "kg m^2"}}, "details": {}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"parameters": 5}, {"parameters": {"J": 5}}, {"parameters": {"J": {"value": "x"}}}, {"parameters": {"J": {"value": []}}},
        {"covariance": 5}, {"covariance": [[1], [1, 2]]}, {"covariance": [["a"]]}, {"warnings": 5}, {"details": [1]},
        {"details": {"assumed": 5}}, {"model": [1]}, {"method": 5}, {"reason": {"a": 1}},
        {"parameters": {"J": {"quantile": "q"}}},
    ],
)  # fmt: skip
def test_wrong_types_are_said(tmp_path, wrong):
    path = tmp_path / "estimates.json"
    path.write_text(json.dumps({**GOOD, **wrong}))
    with pytest.raises(RecordError, match=r"estimates.json'(: these are not estimates as blocksim writes them| holds no)"):
        read_estimates(path)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "5", "[]", "null", "{}", '{"a": 5}', "{", "\udcff"])
def test_what_is_no_estimates_at_all_is_said(tmp_path, text):
    path = tmp_path / "estimates.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(RecordError, match=r"estimates.json' (is nested deeper|is not JSON|holds no estimates)"):
        read_estimates(path)
