"""A text and its past: every edit can be taken back and done again; to the begin means to the byte."""

from __future__ import annotations

from dataclasses import dataclass, field

from .edit import Edit
from .patches import Patch, apply_patches, between, inverse_patches

#: How many edits are remembered.
MOST_EDITS = 2000


@dataclass(frozen=True)
class PastStep:
    """One step of the past: what was done, forth and back."""

    words: str
    forth: tuple[Patch, ...]
    back: tuple[Patch, ...]


@dataclass
class History:
    """The text now, the steps that led here, and those taken back."""

    text: str
    past: list[PastStep] = field(default_factory=list)
    future: list[PastStep] = field(default_factory=list)

    def take(self, edit: Edit) -> None:
        """An edit of the text as it is now."""
        self.note(PastStep(edit.words, edit.patches, edit.inverse))

    def type(self, text: str, words: str = "typed") -> None:
        """Another text, typed by hand or read from the file; typing goes on in the same step while it stays on its line."""
        forth = between(self.text, text)
        if not forth:
            return
        back = inverse_patches(self.text, forth)
        last = self.past[-1] if self.past else None
        if last and not self.future and words == last.words == "typed" and goes_on(last, forth[0]):
            before = apply_patches(self.text, last.back)
            whole = between(before, text)
            self.past.pop()
            self.text = before
            forth, back = whole, inverse_patches(before, whole)
        self.note(PastStep(words, tuple(forth), tuple(back)))

    def note(self, step: PastStep) -> None:
        if step.forth:
            self.text = apply_patches(self.text, step.forth)
            self.past = [*self.past, step][-MOST_EDITS:]
            self.future = []

    def undo(self) -> str:
        """Take the last step back; its words, '' where there is none."""
        if not self.past:
            return ""
        step = self.past.pop()
        self.text = apply_patches(self.text, step.back)
        self.future.append(step)
        return step.words

    def redo(self) -> str:
        """Do the step again that was taken back last; its words, '' where there is none."""
        if not self.future:
            return ""
        step = self.future.pop()
        self.text = apply_patches(self.text, step.forth)
        self.past.append(step)
        return step.words


def goes_on(last: PastStep, patch: Patch) -> bool:
    """Whether typing continues where it stopped, within one line."""
    if len(last.forth) != 1 or "\n" in patch.new or "\n" in last.forth[0].new:
        return False
    end = last.forth[0].start + len(last.forth[0].new)
    return abs(patch.start - end) <= 1 and len(last.forth[0].new) < 60
