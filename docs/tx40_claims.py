"""Make the table of relative standard deviations of docs/brunot2017.md again: BLOCKSIM_DATA=data python docs/tx40_claims.py"""

from __future__ import annotations

from statistics import median

from tx40_tables import METHODS, PAGE, PRINTED, PRIORS, put

import blocksim as bs

#: Relative standard deviations of Tables 1 and 3 [%]: Classical, IRWSM 1, IRWSM 2 with good and with poor knowledge.
CLAIMS = """
ZZ1R 1.31 1.32 1.33 0.75 0.61 0.70; Fc1 2.19 2.23 2.26 1.30 1.06 1.22; Fv1 0.69 0.69 0.69 0.38 0.31 0.36
XX2R 2.89 2.94 2.91 1.64 1.34 1.54; XZ2R 4.45 4.47 4.44 2.50 2.09 2.37; ZZ2R 1.08 1.08 1.08 0.63 0.50 0.58
MX2R 2.35 2.37 2.36 1.29 1.11 1.23; Fc2 1.75 1.78 1.77 1.01 0.84 0.95; Fv2 1.10 1.10 1.10 0.61 0.49 0.57
XX3R 9.15 9.18 9.16 4.98 4.28 4.77; ZZ3R 9.01 9.16 9.08 11.3 4.01 7.38; MY3R 2.56 2.56 2.54 1.39 1.21 1.32
Ia3 9.26 9.30 9.38 3.72 4.58 3.88; Fc3 2.22 2.24 2.23 1.33 1.06 1.24; Fv3 2.11 2.12 2.12 1.13 0.92 1.05
MX4 28.2 30.0 29.9 47.6 12.3 27.2; Ia4 16.4 16.6 16.7 8.43 7.43 7.99; Fc4 6.18 6.27 6.22 3.68 2.98 3.44
Fv4 3.66 3.64 3.65 1.99 1.65 1.87; MY5R 17.8 18.1 18.2 7.49 8.02 7.46; Ia5 14.3 14.7 14.8 6.69 6.42 6.38
Fc5 4.67 4.72 4.70 2.71 2.25 2.53; Fv5 2.89 2.91 2.90 1.59 1.28 1.49; Ia6 30.9 31.5 31.5 14.4 14.3 13.7
Fc6 59.9 70.9 69.0 33.3 25.4 29.8; Fv6 3.94 3.95 3.96 2.18 1.77 2.03; Fcm6 6.57 6.48 6.46 3.77 3.07 3.58
Fvm6 3.35 3.40 3.40 1.85 1.49 1.72
"""
CLAIMED = {words[0]: words[1:] for words in (entry.split() for entry in CLAIMS.strip().replace("\n", ";").split(";"))}
ASSUMPTIONS = ("white", "coloured")


def measured(prior: str, errors: str) -> bs.Record:
    """The record of the robot, with the standard deviations of (6), white, or with those of residuals as they are."""
    return bs.identify("brunot2017/tx40", params={**PRIORS[prior], **{f"{m}.errors": errors for m in METHODS}})


def claims_table(records: dict[tuple[str, str], bs.Record]) -> list[str]:
    """Every parameter by Classical, then what all three have in common."""
    heads = [f"{prior}: {what}" for prior in ("good", "poor") for what in ("paper", "(6) here", "coloured here")]
    rows = ["| relative standard deviation [%], Classical | " + " | ".join(heads) + " |", "|" + "---|" * 7]
    ratios: dict[tuple[str, str], list[float]] = {key: [] for key in records}
    for name, claimed in CLAIMED.items():
        cells = []
        for prior, first in (("good", 0), ("poor", 3)):
            cells.append(claimed[first])
            for errors in ASSUMPTIONS:
                found = [records[prior, errors].estimates[method][name] for method in METHODS]
                cells.append(f"{100 * found[0].std / abs(found[0].value):.3g}")
                for entry, percent, value in zip(found, claimed[first:], PRINTED[name][first:], strict=False):
                    ratios[prior, errors].append(entry.std / abs(float(value) * float(percent) / 100))
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    cells = [cell for p in ("good", "poor") for cell in ("1", *(f"{median(ratios[p, e]):.2g}" for e in ASSUMPTIONS))]
    return [*rows, "| all three methods: standard deviation over the paper's, median | " + " | ".join(cells) + " |"]


if __name__ == "__main__":
    records = {(prior, errors): measured(prior, errors) for prior in ("good", "poor") for errors in ASSUMPTIONS}
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "claims", claims_table(records)), encoding="utf-8")
    print(f"wrote {PAGE.name}")
