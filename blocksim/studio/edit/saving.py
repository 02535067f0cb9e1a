"""The file behind the Edit pane: read again, saved, saved as, drafts taken up; the text made the diagram of all panes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import BlocksimError
from ..handlers import Request, handles
from ..protocol import Answer
from ..session import diagram_data
from .requests import document_of, document_state, drafts_data

if TYPE_CHECKING:
    from ..session import Session


@handles("edit.adopt", lane="edit")
def adopt(session: Session, request: Request) -> Answer:
    """Make the text the diagram that all panes have; its mistakes are told as they are."""
    document = document_of(session)
    session.path = document.path
    if session.text != document.text or session.diagram is None:
        session.set_text(document.text)
    return Answer(diagram_data(session))


@handles("edit.poll", lane="edit", latest=True)
def poll_file(session: Session, request: Request) -> Answer:
    """Whether the file changed outside."""
    document = document_of(session)
    what = document.poll()
    if not what:
        return Answer({"what": ""})
    words = {
        "reloaded": "the file was changed outside and read again",
        "conflict": "the file was changed outside while it is changed here: nothing is lost. Saving will ask.",
        "gone": "the file is gone; Save writes it again",
    }[what]
    document.keep_draft()
    answer = document_state(session, document, words)
    answer.data["what"] = what
    return answer


@handles("edit.save", lane="edit")
def save_file(session: Session, request: Request) -> Answer:
    """Write the file, or with a `path` another one; `force` overwrites what others wrote."""
    document = document_of(session)
    path, force = str(request.get("path") or ""), bool(request.get("force"))
    if session.is_bundled and not path:
        raise BlocksimError(f"'{session.name}' comes with blocksim and is not written to. Save it under a name of yours.")
    if path:
        document.save_as(path, force)
        session.path, session.name = document.path, document.path
    else:
        document.save(force)
    return document_state(session, document, f"saved to {document.path}")


@handles("edit.reload", lane="edit")
def reload_file(session: Session, request: Request) -> Answer:
    document = document_of(session)
    document.reload()
    return document_state(session, document, "the file's text; what was here is one undo away")


@handles("edit.draft", lane="edit")
def take_draft(session: Session, request: Request) -> Answer:
    """Take a draft that was left, or drop it."""
    document = document_of(session)
    name = str(request.get("name"))
    texts = {draft["name"]: draft["text"] for draft in document.draft.others(document.disk, document.text)}
    if request.get("drop"):
        document.draft.remove(name)
        return document_state(session, document, "the draft is gone")
    if name not in texts:
        raise BlocksimError("this draft is not there any more.")
    document.history.type(texts[name], "the draft taken up")
    document.keep_draft()
    document.draft.remove(name)
    return document_state(session, document, "the draft is back; undo gives the file's text")


@handles("edit.drafts", lane="edit")
def waiting_drafts(session: Session, request: Request) -> Answer:
    """Drafts of this file that nobody has taken up."""
    return Answer({"drafts": drafts_data(document_of(session)) if session.path else []})
