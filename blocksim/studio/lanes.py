"""Lanes: requests of a lane run in turn in its thread, lanes side by side; of a latest kind only the newest counts."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import BlocksimError
from .handlers import Handler, Request, answers, handler_of
from .protocol import Answer, failure_data

if TYPE_CHECKING:
    from .session import Session

#: What takes an answer on its way to the page; called from any thread.
Delivery = Callable[[Answer, str, int | None], None]


@dataclass
class Errand:
    """A request with its handler; one that is `stale` is not begun, and ended where it streams."""

    handler: Handler
    request: Request
    stale: bool = False

    @property
    def number(self) -> Any:
        return self.request.get("id")


class Lane:
    """A thread that lives while there is work."""

    def __init__(self, session: Session, deliver: Delivery):
        self.session, self.deliver = session, deliver
        self.jobs: deque[Errand] = deque()
        self.current: Errand | None = None
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def put(self, job: Errand) -> None:
        """Add a job; of a latest kind those before it are stale."""
        with self.lock:
            if job.handler.latest:
                for other in [*self.jobs, *([self.current] if self.current else [])]:
                    other.stale |= other.handler.kind == job.handler.kind
            self.jobs.append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self.work, daemon=True)
                self.thread.start()

    def clear(self) -> None:
        with self.lock:
            for job in [*self.jobs, *([self.current] if self.current else [])]:
                job.stale = True

    def next(self) -> Errand | None:
        with self.lock:
            self.current = self.jobs.popleft() if self.jobs else None
            if self.current is None:
                self.thread = None
            return self.current

    def work(self) -> None:
        while (job := self.next()) is not None:
            self.answer(job)

    def answer(self, job: Errand) -> None:
        """Delivery what a handler says, until it is done or stale; whatever goes wrong is said in words."""
        kind = job.handler.kind
        try:
            if not job.stale:
                for answer in answers(self.session, job.handler, job.request):
                    if job.stale:
                        break
                    self.deliver(answer, kind, job.number)
            if job.stale:
                self.deliver(Answer({"stale": True}), kind, job.number)
        except BlocksimError as error:
            self.deliver(Answer({"error": failure_data(error)}), kind, job.number)
        except Exception as error:
            import traceback

            traceback.print_exc()  # ours: the terminal has the place, the page the words
            self.deliver(Answer({"error": failure_data(error)}), kind, job.number)


class Lanes:
    """All lanes of a session."""

    def __init__(self, session: Session, deliver: Delivery):
        self.session, self.deliver = session, deliver
        self.lanes: dict[str, Lane] = {}

    def put(self, request: Request) -> None:
        """Hand a request to the lane of its handler; one that nobody answers is answered here."""
        try:
            handler = handler_of(request.get("kind"))
        except BlocksimError as error:
            self.deliver(Answer({"error": failure_data(error)}), str(request.get("kind")), request.get("id"))
            return
        lane = self.lanes.setdefault(handler.lane, Lane(self.session, self.deliver))
        lane.put(Errand(handler, request))

    def clear(self) -> None:
        """Nobody listens any more: begin nothing, end what streams."""
        for lane in self.lanes.values():
            lane.clear()
