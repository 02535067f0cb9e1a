"""Questions of the lessons: guess first, then run. They show themselves in a notebook or a page, and answer by themselves.

The form is plain HTML with a few lines of script of its own: it works with the keyboard, with a screen reader, in Jupyter and on
a page made of the notebook, and needs nothing from the network.
"""

from __future__ import annotations

import html
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

FORM = """
<form id="{name}" class="blocksim-quiz" style="border-left:4px solid #0072b2;padding:.4em 1em;margin:1em 0">
<fieldset style="border:0;padding:0;margin:0"><legend style="font-size:1em;font-weight:600;padding:0;margin:0">{question}</legend>
{fields}
<button type="submit" style="margin-top:.5em">Answer</button>
</fieldset>
<p role="status" aria-live="polite" style="min-height:1.5em;margin:.4em 0 0"></p>
</form>
<script>
(function () {{
  const form = document.getElementById({key}), data = {data};
  form.addEventListener("submit", function (event) {{
    event.preventDefault();
    const words = ({judge})(new FormData(form).get("answer"), data);
    form.querySelector("[role=status]").textContent = words;
  }});
  window.addEventListener("keydown", function (event) {{ // a notebook takes Enter and arrows for itself
    if (form.contains(event.target) && !event.ctrlKey && !event.metaKey) event.stopPropagation();
  }}, true);
}})();
</script>
"""

CHOOSE = 'function (answer, data) { return answer === null ? "Choose one first." : data.replies[Number(answer)] }'
GUESS = """function (answer, data) {
  const value = Number(String(answer).replace(",", "."));
  if (answer === "" || !Number.isFinite(value)) return "A number is wanted.";
  const right = Math.abs(value - data.answer) <= data.tolerance;
  return (right ? "Right. " : value < data.answer ? "It is more. " : "It is less. ") + (right ? data.why : data.hint);
}"""


def form_of(question: str, fields: str, judge: str, data: object, name: str) -> str:
    """The form, with what it needs to answer inside it."""
    text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")  # a reply cannot end the script
    return FORM.format(name=name, key=json.dumps(name), question=html.escape(question), fields=fields, judge=judge, data=text)


def form_name() -> str:
    """A page may hold the same question twice."""
    return f"quiz-{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Quiz:
    """A question with answers to choose from; each has its own reply."""

    question: str
    replies: Mapping[str, str]
    name: str = field(default_factory=form_name, repr=False)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<label style="display:block"><input type="radio" name="answer" value="{number}"> {html.escape(option)}</label>'
            for number, option in enumerate(self.replies)
        )
        return form_of(self.question, rows, CHOOSE, {"replies": list(self.replies.values())}, self.name)

    def __repr__(self) -> str:
        return "\n".join([self.question, *(f"  ( ) {option}" for option in self.replies)])


@dataclass(frozen=True)
class Guess:
    """A question whose answer is a number."""

    question: str
    answer: float
    tolerance: float
    why: str
    hint: str = "Run the next cells, and guess again."
    name: str = field(default_factory=form_name, repr=False)

    def _repr_html_(self) -> str:
        row = '<label>Your guess: <input name="answer" inputmode="decimal" size="10" autocomplete="off"></label> '
        data = {"answer": self.answer, "tolerance": self.tolerance, "why": self.why, "hint": self.hint}
        return form_of(self.question, row, GUESS, data, self.name)

    def __repr__(self) -> str:
        return f"{self.question} ____"
