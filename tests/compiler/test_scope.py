"""A function being written: pieces under their titles, nested bodies, nothing for what stayed empty."""

from __future__ import annotations

from blocksim.compiler.scope import Scope, indented


def test_lines_of_a_block_stand_under_its_title():
    scope = Scope()
    scope.begin("tank")
    scope.write("a = 1")
    scope.write("b = 2")
    scope.begin("pump")
    scope.write("c = 3")
    assert scope.blocks() == ["# tank\na = 1\nb = 2", "# pump\nc = 3"]


def test_what_stays_empty_is_not_written():
    scope = Scope()
    scope.begin("nothing")
    scope.begin()
    assert scope.written() == [] and scope.blocks() == []


def test_writing_needs_no_beginning():
    scope = Scope()
    scope.write("a = 1")
    assert scope.blocks() == ["a = 1"]


def test_a_nested_body_is_a_piece_of_its_own_and_what_follows_another():
    scope = Scope()
    scope.write("a = 1")
    scope.nest("if a > 0:", ["b = 1\nc = 2", "d = 3"])
    scope.write("e = 4")
    assert scope.blocks() == ["a = 1", "if a > 0:\n    b = 1\n    c = 2\n    d = 3", "e = 4"]
    names: dict[str, int] = {}
    exec("\n".join(scope.blocks()), names)
    assert (names["b"], names["c"], names["d"], names["e"]) == (1, 2, 3, 4)


def test_an_empty_body_passes():
    scope = Scope()
    scope.nest("while False:", [])
    exec("\n".join(scope.blocks()))
    assert scope.blocks() == ["while False:\n    pass"]


def test_two_scopes_share_nothing():
    one, other = Scope(), Scope()
    one.write("a = 1")
    one.done.add((0, "output"))
    assert other.pieces == [] and other.done == set() and other.signals == {}


def test_indenting_keeps_what_is_indented():
    assert indented(["if a:\n    b = 1"]) == "    if a:\n        b = 1"
