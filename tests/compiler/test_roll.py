"""Equal code at other addresses becomes one loop; numbers that are no addresses keep code apart."""

from blocksim.compiler.roll import Piece, column_text, parts, roll
from blocksim.tracing.code import Address, Code, code, joined, literal


def piece(k, text=" + 2"):
    return Piece([code("m[", 3 * k, "] = x[", k, f"]{text}")], f"b{k}: Gain")


def run(text, **stores):
    """What the text leaves in the stores."""
    exec(text, {}, stores)
    return stores


def test_equal_pieces_are_one_loop_that_does_the_same():
    pieces = [piece(k) for k in range(6)]
    (text,) = roll(pieces, table=lambda numbers: 0)
    assert text.splitlines()[0] == "# 6 times, from b0: Gain to b5: Gain"
    assert "for i in range(6):" in text and "m[3 * i] = x[i] + 2" in text
    written = "\n".join(p.text() for p in pieces)
    x = [float(k) for k in range(6)]
    assert run(text, m=[0.0] * 20, x=x)["m"] == run(written, m=[0.0] * 20, x=x)["m"]


def test_a_number_that_is_no_address_keeps_pieces_apart():
    """Regular expressions over the text took the 2 and 5 for addresses."""
    pieces = [piece(k, f" + {2 + 3 * (k % 2)}") for k in range(6)]
    assert len(roll(pieces, table=lambda numbers: 0)) == 6
    assert len(roll(pieces, table=lambda numbers: 0, free=True)) == 6  # three of a kind are fewer than enough


def test_addresses_without_a_step_come_from_a_table():
    tables = []

    def table(numbers):
        tables.append(numbers)
        return 7

    places = [0, 5, 1, 9, 2]
    pieces = [Piece([code("m[", k, "] = x[", at, "]")]) for k, at in enumerate(places)]
    (text,) = roll(pieces, table)
    assert tables == [places]
    assert "m[i] = x[o[7 + 1 * i]]" in text
    found = run(text, m=[0.0] * 5, x=[float(k) for k in range(10)], o=[0] * 7 + places)
    assert found["m"] == [float(k) for k in places]


def test_an_address_in_a_product_keeps_its_parentheses():
    pieces = [Piece([code("r[", "start + ", 2 + 3 * k, " * count] = x[", k, "]")]) for k in range(4)]
    (text,) = roll(pieces, table=lambda numbers: 0)
    assert "r[start + (2 + 3 * i) * count] = x[i]" in text


def test_few_pieces_are_written_out():
    assert roll([piece(0), piece(1)], table=lambda numbers: 0) == [piece(0).text(), piece(1).text()]


def test_columns():
    assert column_text((4, 4, 4)) == "4"
    assert column_text((0, 1, 2)) == "i"
    assert column_text((3, 5, 7)) == "3 + 2 * i"
    assert column_text((0, 1, 3)) is None


def test_long_functions_are_cut_into_parts_that_are_called_in_order():
    blocks = [f"m[{k}] = {k}.0" for k in range(400)]
    calls, functions = parts("derivative", "m", blocks)
    assert len(calls) == len(functions) > 3 and calls[0] == "derivative_part_1(m)"
    assert (
        run("\n".join([*functions, "def all(m):", *(f"    {c}" for c in calls)]).replace("def all", "def every"), m=[])["m"] == []
    )
    space = {}
    exec("\n".join(functions), space)
    m = [0.0] * 400
    for call in calls:
        eval(call, space, {"m": m})
    assert m == [float(k) for k in range(400)]


def test_code_knows_its_addresses():
    made = code("a[", 3, "] + ", 4, " * 5")
    assert str(made) == "a[3] + 4 * 5"
    assert made.shape == ("a[", None, "] + ", None, " * 5") and made.addresses == [3, 4]
    assert isinstance(made.parts[1], Address)
    assert str(joined(", ", [code("a"), code("b")])) == "a, b"
    assert str(Code(("x",)).indented()) == "    x"


def test_literals():
    for value in (0.0, -0.0, 1e-300, float("inf"), -float("inf"), 3, True, "text", (1.0,), (1.0, (2.0, 3.0)), None):
        assert repr(eval(str(literal(value)), {"inf": float("inf"), "nan": float("nan")})) == repr(value)
    assert str(literal(float("nan"))) == "nan"
