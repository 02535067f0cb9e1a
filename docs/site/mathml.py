"""Formulas as MathML, which browsers draw by themselves: no script, no font from elsewhere, no network."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def inline(self: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    self.body.append(convert(node.astext()))
    raise SkipNode


def block(self: Any, node: Any) -> None:
    from docutils.nodes import SkipNode

    self.body.append(convert(node.astext(), display="block"))
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
