"""Recent: the diagrams that were open lately, kept in the user's state folder; and what can be opened by name, with titles."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from pathlib import Path
from typing import Any

from ..diagram.files import bundled, find_diagram, write_whole
from ..errors import BlocksimError

MOST_RECENT, MOST_LISTED = 8, 200
#: Of a file so much is looked at: its title stands before its blocks.
GLANCE_BYTES = 20_000
TITLE = re.compile(r"""^name:[ ]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\n#]*))""", re.MULTILINE)


def state_folder() -> Path | None:
    """XDG_STATE_HOME/blocksim; None for one who has no home."""
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "blocksim"
    except RuntimeError:
        return None


def recent_paths() -> list[str]:
    """The newest first; those that are gone are left out."""
    folder = state_folder()
    if folder is None:
        return []
    with contextlib.suppress(OSError, ValueError):
        paths = json.loads((folder / "recent.json").read_text(encoding="utf-8"))
        return [path for path in paths if isinstance(path, str) and os.path.isfile(path)][:MOST_RECENT]
    return []


def remember(path: str) -> None:
    """Put a file first; where there is no place to write, nothing is remembered."""
    folder, whole = state_folder(), os.path.abspath(path)
    if folder is None:
        return
    paths = [whole, *(other for other in recent_paths() if other != whole)][:MOST_RECENT]
    with contextlib.suppress(OSError, BlocksimError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(folder / "recent.json", json.dumps(paths))


def beginning_of(path: str) -> str:
    """The first lines of a file; nothing of one that cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(GLANCE_BYTES).decode(errors="replace")
    except OSError:
        return ""


def title_in(text: str) -> str:
    """The `name:` of a diagram's text."""
    match = TITLE.search(text)
    return next((group.strip() for group in match.groups() if group), "") if match else ""


def files_data() -> dict[str, list[dict[str, Any]]]:
    """What was open lately, the diagrams of this folder and of those below it, and the bundled ones, each with its title."""
    below = sorted(path for pattern in ("*.y*ml", "*/*.y*ml") for path in glob.glob(pattern) if path.endswith((".yaml", ".yml")))
    own = [(path, beginning_of(path)) for path in below[:MOST_LISTED]]
    return {
        "recent": [{"name": path, "title": title_in(beginning_of(path))} for path in recent_paths()],
        "own": [{"name": path, "title": title_in(text)} for path, text in own if re.search(r"^blocks:", text, re.MULTILINE)],
        "bundled": [{"name": name, "title": title_in(beginning_of(find_diagram(name)))} for name in bundled()],
    }
