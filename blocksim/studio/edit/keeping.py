"""Settings from sliders and drags, written into the text: the fewest characters change, and one undo takes all of them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...diagram.diagram import Diagram
from ...diagram.editing.edit import edit, meaning_of
from ...diagram.editing.operations import set_parameter, set_setting
from ...errors import BlocksimError
from ...planning.design.design import file_numbers
from ...simulation.elements import split_element, value_at, with_element
from ..handlers import Request, handles
from ..protocol import Answer
from .requests import document_of

if TYPE_CHECKING:
    from ..session import Session
    from .document import Document


def write_settings(document: Document, diagram: Diagram, settings: Mapping[str, Any], words: str) -> None:
    """Give blocks and parameters of the file these values, in one step of its history; of a list only its elements."""
    text = document.text
    for path, value in settings.items():
        setting, place = split_element(path)
        block, _, key = setting.rpartition(".")
        if "." in block:
            raise BlocksimError(
                f"'{path}' stands in the file of the part '{block.partition('.')[0]}'; open that file to keep it."
            )
        number = file_numbers(value)
        if place:
            number = with_element(written_list(text, diagram, setting, place), place, number)
        text = (edit(text, set_setting, block, key, number) if block else edit(text, set_parameter, key, number)).text
    document.history.type(text, words)
    document.keep_draft()


def written_list(text: str, diagram: Diagram, setting: str, place: tuple[int, ...]) -> Any:
    """A list as the text has it, expressions in it included; one that the text does not write out, as the diagram has it."""
    block, _, key = setting.rpartition(".")
    meaning = meaning_of(text)
    value = (meaning["blocks"][block] if block else meaning["parameters"]).get(key)
    if value_at(value, place) is not None:
        return value
    owner = diagram.nodes[block].block if block else diagram
    return owner.parameters[key] if isinstance(owner, Diagram) else owner.settings[key]


@handles("bench.keep", lane="edit")
def keep_sliders(session: Session, request: Request) -> Answer:
    """Write the values of the sliders into the file's text."""
    diagram = session.ready().diagram
    changes = dict(request.get("changes") or {})
    if not changes:
        raise BlocksimError("every slider is where the file has it; there is nothing to write.")
    document = document_of(session)
    write_settings(document, diagram, changes, "values from the bench")
    names = ", ".join(changes)
    return Answer({"words": f"{names} in the text now; Save in the Edit pane writes the file, Undo there takes it back."})
