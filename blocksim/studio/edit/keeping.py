"""Settings from sliders and drags, written into the text: the fewest characters change, and one undo takes all of them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...diagram.editing.edit import edit
from ...diagram.editing.operations import set_parameter, set_setting
from ...errors import BlocksimError
from ...planning.design.design import file_numbers
from ..handlers import Request, handles
from ..protocol import Answer
from .requests import document_of

if TYPE_CHECKING:
    from ..session import Session
    from .document import Document


def write_settings(document: Document, settings: Mapping[str, Any], words: str) -> None:
    """Give blocks and parameters of the file these values, in one step of its history."""
    text = document.text
    for path, value in settings.items():
        block, _, key = path.rpartition(".")
        if "." in block:
            raise BlocksimError(
                f"'{path}' stands in the file of the part '{block.partition('.')[0]}'; open that file to keep it."
            )
        number = file_numbers(value)
        text = (edit(text, set_setting, block, key, number) if block else edit(text, set_parameter, key, number)).text
    document.history.type(text, words)
    document.keep_draft()


@handles("bench.keep", lane="edit")
def keep_sliders(session: Session, request: Request) -> Answer:
    """Write the values of the sliders into the file's text."""
    session.ready()
    changes = dict(request.get("changes") or {})
    if not changes:
        raise BlocksimError("every slider is where the file has it; there is nothing to write.")
    document = document_of(session)
    write_settings(document, changes, "values from the bench")
    names = ", ".join(changes)
    return Answer({"words": f"{names} in the text now; Save in the Edit pane writes the file, Undo there takes it back."})
