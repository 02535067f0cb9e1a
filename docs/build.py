"""The documentation site: `python docs/build.py [FOLDER]` builds it into build/site/, warnings being errors, without a network.

Needs the extra `docs` (pip install -e ".[docs]"). The pages of this folder stay as they are and are read on any code host; what
is generated beside them (a page for each block, the Python API, the gallery of examples) goes into FOLDER/source. Examples are
shown, not run: the tests run each of them. Pages that did not change are not built again.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))


def build(folder: Path) -> int:
    """Stage the sources, then run Sphinx; its exit code."""
    from pages import stage

    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        print("the site needs Sphinx and its extensions: pip install -e '.[docs]'", file=sys.stderr)
        return 2
    source = folder / "source"
    stage(ROOT, source)
    arguments = ["-W", "--keep-going", "-q", "-c", str(ROOT / "docs" / "site"), "-d", str(folder / "doctrees")]
    return build_main([*arguments, str(source), str(folder / "html")])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    code = build(target)
    if code == 0:
        print(f"wrote {target / 'html' / 'index.html'}")
    sys.exit(code)
