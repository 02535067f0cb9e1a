"""What the Edit pane asks for: typing, edits of blocks and wires, undo and redo, the palette."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...contract.library import find
from ...diagram.diagram import inports, kind, outports
from ...diagram.editing.edit import Edit, edit, meaning_of
from ...diagram.editing.history import History
from ...diagram.editing.names import delete_block, rename_block
from ...diagram.editing.operations import insert_block, remove_setting, set_log, set_parameter, set_setting, set_simulate
from ...diagram.editing.sketch import input_ports, sketch
from ...diagram.editing.wires import connect_input, disconnect_input, signals_at
from ...errors import BlocksimError, DiagramError, Problem, listing
from ..handlers import Request, handles
from ..protocol import Answer, problem_data
from .document import Document, stamp_of
from .drafts import Draft
from .palette import page, palette

if TYPE_CHECKING:
    from ...diagram.diagram import Diagram
    from ..session import Session


def document_of(session: Session) -> Document:
    """The document of a tab; made from what the session has read."""
    shelf = session.shelf.setdefault("edit", {})
    if "document" not in shelf or (shelf["document"].path != session.path):
        text = session.text
        shelf["document"] = Document(session.path, History(text), text, Draft(session.path), stamp_of(session.path))
    document: Document = shelf["document"]
    return document


def document_state(session: Session, document: Document, words: str = "", news: tuple[str, ...] = ()) -> Answer:
    """The pane's whole view of the document."""
    diagram, problems = sketch(document.text, document.path, session.allow_outside)
    session.shelf["edit"]["problems"] = problems
    past, future = document.history.past, document.history.future
    return Answer(
        {
            "text": document.text,
            "problems": [problem_data(problem) for problem in problems],
            **(drawing(diagram, document.text) if diagram is not None else {"svg": "", "blocks": []}),
            "undo": past[-1].words if past else "",
            "redo": future[-1].words if future else "",
            "dirty": document.dirty,
            "path": document.path,
            "bundled": session.is_bundled,
            "outside": document.outside is not None,
            "words": words,
            "news": list(news),
        }
    )


def drawing(diagram: Diagram, text: str) -> dict[str, Any]:
    """The picture of what there is so far, and every block with its ports as wires can be drawn to them."""
    from ..picture import diagram_svg

    entries = meaning_of(text).get("blocks") or {}
    ports = input_ports(diagram)
    blocks = []
    for node in diagram.nodes.values():
        inputs = entries[node.name].get("in")
        blocks.append(
            {
                "name": node.name,
                "type": kind(node.block),
                "line": node.place.line if node.place else 0,
                "inputs": [
                    {
                        "name": port,
                        "many": bool(one.many),
                        "optional": bool(one.optional),
                        "doc": one.meaning(),
                        "signals": signals_at(inputs, port, ports[node.name]),
                    }
                    for port, one in inports(node.block).items()
                ],
                "outputs": list(outports(node.block)),
                "settings": {k: written_value(v) for k, v in entries[node.name].items() if k not in ("type", "in", "flip")},
            }
        )
    return {"svg": diagram_svg(diagram), "blocks": blocks, "parameters": written_mapping(meaning_of(text), "parameters"),
            "simulate": written_mapping(meaning_of(text), "simulate")}  # fmt: skip


def written_mapping(meaning: Mapping[str, Any], key: str) -> dict[str, str]:
    return {name: written_value(value) for name, value in (meaning.get(key) or {}).items()}


def written_value(value: Any) -> str:
    """A value as a person types it into a field."""
    from ...diagram.writer import flow

    return value if isinstance(value, str) else flow(value)


def typed_value(text: str) -> Any:
    """What was typed into a field, read as the file would read it."""
    try:
        return meaning_of(f"value: {text}\n")["value"]
    except DiagramError as error:
        raise BlocksimError(error.problems[0].what) from None


# ---- edits


@handles("edit.open", lane="edit")
def open_document(session: Session, request: Request) -> Answer:
    """The document as it stands; after a broken line the page sends its own text, which nothing else has any more."""
    document = document_of(session)
    text = request.get("text")
    if isinstance(text, str) and text != document.text:
        document.history.type(text, "kept by the page")
        document.keep_draft()
    answer = document_state(session, document)
    answer.data["drafts"] = drafts_data(document)
    return answer


def drafts_data(document: Document) -> list[dict[str, str]]:
    return [{key: draft[key] for key in ("name", "when")} for draft in document.draft.others(document.disk, document.text)]


@handles("edit.type", lane="edit", latest=True)
def type_text(session: Session, request: Request) -> Answer:
    """Another text from the keyboard."""
    document = document_of(session)
    document.history.type(str(request.get("text", "")))
    document.keep_draft()
    return document_state(session, document)


@handles("edit.do", lane="edit")
def edit_by_hand(session: Session, request: Request) -> Answer:
    """One edit by hand: of a setting, a wire, a block."""
    document = document_of(session)
    name = str(request.get("act"))
    if name not in ACTS:
        raise BlocksimError(f"there is no edit '{name}'. Edits are: {listing(ACTS)}.")
    result = ACTS[name](document.text, session, request)
    if name in ("set", "parameter", "simulate"):
        refuse_new_problems(session, document, result)
    document.history.take(result)
    document.keep_draft()
    return document_state(session, document, result.words, result.news)


def refuse_new_problems(session: Session, document: Document, result: Edit) -> None:
    """A value that the loader refuses is refused at its field, in the loader's own words."""
    _, before = sketch(document.text, document.path, session.allow_outside)
    _, after = sketch(result.text, document.path, session.allow_outside)
    old = {problem.what for problem in before}
    new: list[Problem] = [problem for problem in after if problem.what not in old]
    if new:
        raise DiagramError(new)


def value_edit(text: str, session: Session, request: Request) -> Edit:
    block, key, words = str(request["block"]), str(request["key"]), str(request.get("text", ""))
    if not words.strip():
        return edit(text, remove_setting, block, key)
    return edit(text, set_setting, block, key, typed_value(words))


def top_edit(operation: Callable[..., Any]) -> Callable[[str, Session, Request], Edit]:
    def apply_it(text: str, session: Session, request: Request) -> Edit:
        words = str(request.get("text", ""))
        return edit(text, operation, str(request["key"]), typed_value(words) if words.strip() else None)

    return apply_it


def ports_now(text: str, session: Session) -> dict[str, Any]:
    diagram, problems = sketch(text, session.path, session.allow_outside)
    if diagram is None:
        raise DiagramError(problems)
    return input_ports(diagram)


def ports_at(text: str, session: Session, block: str) -> Any:
    ports = ports_now(text, session)
    if block not in ports:
        raise BlocksimError(f"block '{block}' cannot be made yet, so its inputs are not known; mend it first.")
    return ports[block]


def connect_edit(text: str, session: Session, request: Request) -> Edit:
    block = str(request["block"])
    return edit(text, connect_input, block, str(request["port"]), str(request["signal"]), ports_at(text, session, block))


def disconnect_edit(text: str, session: Session, request: Request) -> Edit:
    block, signal = str(request["block"]), str(request.get("signal") or "")
    return edit(text, disconnect_input, block, str(request["port"]), ports_at(text, session, block), signal)


ACTS: dict[str, Callable[[str, Session, Request], Edit]] = {
    "set": value_edit,
    "parameter": top_edit(set_parameter),
    "simulate": top_edit(set_simulate),
    "connect": connect_edit,
    "disconnect": disconnect_edit,
    "insert": lambda text, session, request: edit(text, insert_block, str(request["type"]), str(request.get("name") or "")),
    "delete": lambda text, session, request: edit(text, delete_block, str(request["block"]), ports_now(text, session)),
    "rename": lambda text, session, request: edit(text, rename_block, str(request["block"]), str(request["name"])),
    "log": lambda text, session, request: edit(text, set_log, str(request["signal"]), bool(request["logged"])),
}


@handles("edit.undo", lane="edit")
def undo_edit(session: Session, request: Request) -> Answer:
    return step_answer(session, document_of(session).history.undo(), "undone")


@handles("edit.redo", lane="edit")
def redo_edit(session: Session, request: Request) -> Answer:
    return step_answer(session, document_of(session).history.redo(), "done again")


def step_answer(session: Session, words: str, verb: str) -> Answer:
    document = document_of(session)
    document.keep_draft()
    return document_state(session, document, f"{words}: {verb}" if words else "nothing left to take back")


# ---- the palette


@handles("edit.palette")
def palette_answer(session: Session, request: Request) -> Answer:
    name = request.get("type")
    return Answer({"page": page(find(str(name)))} if name else {"families": palette()})
