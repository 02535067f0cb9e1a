"""A notebook as a page: its texts as they are, its code as blocks, the pictures it holds as files."""

from __future__ import annotations

import base64
import json
from pathlib import Path


def notebook_page(path: Path, pictures: str) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook and the pictures of its outputs, by name below the folder `pictures`."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts: list[str] = []
    images: dict[str, bytes] = {}
    for number, cell in enumerate(cells):
        text = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code" and text:
            parts.append(f"```python\n{text}\n```")
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                if "image/png" in data:
                    name = f"{path.stem}-{number}.png"
                    images[name] = base64.b64decode("".join(data["image/png"]))
                    parts.append(f"![What the code draws]({pictures}/{name})")
                elif output.get("output_type") == "stream":
                    parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n", images
