"""Tableaus: rooted trees as published, methods as published, and no wrong coefficient gets through."""

from dataclasses import replace
from fractions import Fraction

import pytest

from blocksim.errors import SolverDefinitionError
from blocksim.solvers.tableau import Tableau, numbers, rows
from blocksim.solvers.tableaus import DOPRI5, EULER, HEUN, OWN, RK4, RODAS4
from blocksim.solvers.trees import density, title, trees

EXPLICIT = [EULER, HEUN, RK4, DOPRI5]


def test_there_are_as_many_trees_as_there_should_be():
    # Hairer, Norsett & Wanner, Table II.2.3.
    assert [len(trees(order)) for order in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_conditions_up_to_order_four_are_the_published_ones():
    # Hairer, Norsett & Wanner, Table II.2.1.
    wanted = {
        "sum b_i": 1,
        "sum b_i c_i": 2,
        "sum b_i c_i^2": 3,
        "sum b_i a_ij c_j": 6,
        "sum b_i c_i^3": 4,
        "sum b_i c_i a_ij c_j": 8,
        "sum b_i a_ij c_j^2": 12,
        "sum b_i a_ij a_jk c_k": 24,
    }
    assert {title(tree, "b"): density(tree) for order in range(1, 5) for tree in trees(order)} == wanted


# methods as published


PUBLISHED = {
    "midpoint": lambda: Tableau("midpoint", 2, numbers("0 1/2"), rows("", "1/2"), numbers("0 1")),
    "three eighths": lambda: Tableau(
        "three eighths", 4, numbers("0 1/3 2/3 1"), rows("", "1/3", "-1/3 1", "1 -1 1"), numbers("1/8 3/8 3/8 1/8")
    ),
    "Fehlberg 4(5)": lambda: Tableau(  # the embedded method is the better one, and the last stage is inside the step
        "rkf45",
        4,
        numbers("0 1/4 3/8 12/13 1 1/2"),
        rows(
            "",
            "1/4",
            "3/32 9/32",
            "1932/2197 -7200/2197 7296/2197",
            "439/216 -8 3680/513 -845/4104",
            "-8/27 2 -3544/2565 1859/4104 -11/40",
        ),
        numbers("25/216 0 1408/2565 2197/4104 -1/5 0"),
        e=numbers("-1/360 0 128/4275 2197/75240 -1/50 -2/55"),
        embedded=5,
    ),
    "Butcher 6": lambda: Tableau(  # Butcher 1964, seven stages
        "butcher6",
        6,
        numbers("0 1/3 2/3 1/3 1/2 1/2 1"),
        rows(
            "", "1/3", "0 2/3", "1/12 1/3 -1/12", "-1/16 9/8 -3/16 -3/8", "0 9/8 -3/8 -3/4 1/2", "9/44 -9/11 63/44 18/11 0 -16/11"
        ),
        numbers("11/120 0 27/40 27/40 -4/15 -4/15 11/120"),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_methods_are_accepted(name):
    assert PUBLISHED[name]().compiled


def test_traits_follow_from_the_coefficients():
    traits = {name: (m.adaptive, m.implicit, m.fsal, m.stages, m.order) for name, m in OWN.items()}
    assert traits == {
        "euler": (False, False, False, 1, 1),
        "heun": (False, False, False, 2, 2),
        "rk4": (False, False, False, 4, 4),
        "dopri5": (True, False, True, 7, 5),
        "rodas4": (True, True, False, 6, 4),
    }
    fehlberg = PUBLISHED["Fehlberg 4(5)"]()
    assert (fehlberg.adaptive, fehlberg.fsal, fehlberg.error_order) == (True, False, 4)


# wrong coefficients


def nudged(row, i):
    """The row with one number off in the sixth digit."""
    return tuple(v + type(v)(1) / 10**6 if k == i else v for k, v in enumerate(row))


@pytest.mark.parametrize("method", EXPLICIT, ids=lambda m: m.name)
def test_every_wrong_coefficient_of_an_explicit_method_is_refused(method):
    for name in ("b", "c", "e", "d"):
        for i in range(len(getattr(method, name))):
            with pytest.raises(SolverDefinitionError, match=f"solver '{method.name}'"):
                replace(method, **{name: nudged(getattr(method, name), i)})
    for i, row in enumerate(method.a):
        for j in range(i):
            a = (*method.a[:i], nudged(row, j), *method.a[i + 1 :])
            with pytest.raises(SolverDefinitionError, match=f"row {i} of a adds up to"):
                replace(method, a=a)
            with pytest.raises(SolverDefinitionError, match=r"sum (b|\(b - e\))_i .* = 1/\d+ \(order \d\) does not hold"):
                replace(method, a=a, c=nudged(method.c, i))


def test_every_wrong_coefficient_of_rodas4_is_refused():
    for name in ("alpha", "drift"):
        for i in range(RODAS4.stages):
            with pytest.raises(SolverDefinitionError, match=rf"{name}\[{i}\] is .*add up to"):
                replace(RODAS4, **{name: nudged(getattr(RODAS4, name), i)})
    for name in ("a", "c", "dense"):
        matrix = getattr(RODAS4, name)
        for i, row in enumerate(matrix):
            for j in range(len(row)):
                with pytest.raises(SolverDefinitionError):
                    replace(RODAS4, **{name: (*matrix[:i], nudged(row, j), *matrix[i + 1 :])})
    with pytest.raises(SolverDefinitionError):
        replace(RODAS4, gamma=0.2500001)


def test_rk4_with_a_wrong_row_names_the_condition():
    # Row sums and quadrature hold; the half step is taken with the first slope twice: sum b_i a_ij c_j = 1/6 * 1/2 = 1/12.
    with pytest.raises(SolverDefinitionError) as caught:
        replace(RK4, a=rows("", "1/2", "1/2 0", "0 0 1"))
    assert str(caught.value) == (
        "solver 'rk4': sum b_i a_ij c_j = 1/6 (order 3) does not hold: it is 1/12. A coefficient is wrong, or the order is not 4."
    )


def test_an_order_that_the_method_does_not_have_is_refused():
    # For Heun, sum b c^2 = 1/2.
    with pytest.raises(SolverDefinitionError, match=r"sum b_i c_i\^2 = 1/3 \(order 3\) does not hold: it is 1/2.*order is not 3"):
        replace(HEUN, order=3)


def test_an_embedded_method_that_is_not_of_its_order_is_refused():
    # Euler inside Heun: b - e = (1, 0), so e = (-1/2, 1/2). It is of order 1 and no more.
    assert replace(HEUN, name="heun21", e=numbers("-1/2 1/2")).adaptive
    with pytest.raises(SolverDefinitionError, match=r"sum \(b - e\)_i c_i = 1/2 \(order 2\).*embedded method is not of order 2"):
        replace(HEUN, e=numbers("-1/2 1/2"), embedded=2)
    with pytest.raises(SolverDefinitionError, match=r"sum \(b - e\)_i = 1 \(order 1\) does not hold: it is 1/2"):
        replace(HEUN, e=numbers("0 1/2"))


def test_dense_output_of_the_wrong_order_is_refused():
    with pytest.raises(SolverDefinitionError, match=r"sum b\(theta\)_i .* = theta\^\d/\d+ .*A coefficient of d is wrong"):
        replace(DOPRI5, d=tuple(2 * v for v in DOPRI5.d))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": RK4.a[:-1]}, "row i of a has i entries below the diagonal, for 4 stages 0 to 3: found 0, 1, 2"),
        ({"b": RK4.b[:-1]}, "b and e have one weight per stage, 4: found 3 and 0"),
        ({"e": RK4.b[:-1]}, "found 4 and 3"),
        ({"e": (Fraction(0),) * 4}, "e is zero everywhere: it estimates no error"),
        ({"d": RK4.b}, "d has 5 weights and belongs to an error row e: found 4 and 0"),
        ({"order": 0}, "at least one stage and an order of at least 1"),
    ],
)
def test_tableaus_of_the_wrong_shape_say_what_is_wanted(change, words):
    with pytest.raises(SolverDefinitionError) as caught:
        replace(RK4, **change)
    assert words in str(caught.value)
