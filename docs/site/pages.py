"""Stage the sources of the site: the pages of docs/, a page for each block, the Python API, the examples for the gallery."""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path

from block_pages import write_block_pages
from lesson_pages import lesson_page
from python_pages import write_python_pages

#: Which page serves whom (tutorials teach, how-to pages solve, reference pages tell, explanations say why); others are how-to's.
SECTIONS = {
    "tutorials": ("Tutorials", "Learn by doing, from a clone to a robot.", ["getting-started", "course/index", "gallery/index"]),
    "how-to": (
        "How-to guides",
        "Recipes for a task at hand.",
        ["running", "studio", "measured-data", "from-csv", "studies", "excitation", "information", "linearize",
         "linear-models", "own-blocks", "extending", "serial-robots"],
    ),
    "reference": (
        "Reference",
        "Every key, block, function and warning.",
        ["diagrams", "blocks/index", "blocks", "api/index", "records", "systems", "warnings", "security", "speed", "changelog"],
    ),
    "explanation": (
        "Explanation",
        "Why it is as it is, what methods are worth, and four papers and a data set repeated.",
        ["identification", "methods", "observers", "compare", "pictures", "architecture", "emps", "thesis",
         "thesis-not-identifiable", "predicted", "tout2022", "gautier2001", "brunot2017", "contributing"],
    ),
}  # fmt: skip
#: Words of file names that are written in another way in a title.
ABBREVIATIONS = {"didim", "ekf", "emps", "pid", "rpem", "scara", "tx40", "ukf"}
NAMES = {"brunot", "gautier", "python", "tout"}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def stage(root: Path, source: Path) -> None:
    """Bring the sources up to date; a file that is the same keeps its time, so that Sphinx passes it over."""
    before = {path for path in source.rglob("*") if path.is_file() and "gallery" not in path.relative_to(source).parts}
    site = Staging(root, source)
    site.copy_pages()
    site.write_examples()
    site.add(write_block_pages(source))
    site.add(write_python_pages())
    course = "\n".join(path.stem for path in sorted((root / "docs" / "course").glob("*.ipynb")))
    front = site.linked(root / "docs" / "course" / "index.md")
    site.write("course/index.md", f"{front}\n```{{toctree}}\n:hidden:\n\n{course}\n```\n")
    site.write_sections()
    for path in before - site.files:
        path.unlink()


class Staging:
    """The folder that Sphinx reads, and the files that belong there."""

    def __init__(self, root: Path, source: Path):
        self.root, self.source, self.files = root, source, set[Path]()

    def add(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.source / name
        self.files.add(path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def copy(self, origin: Path, name: str) -> None:
        path = self.source / name
        self.files.add(path)
        if not path.exists() or path.read_bytes() != origin.read_bytes():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, path)

    def copy_pages(self) -> None:
        """The pages with links that lead within the site, and their pictures."""
        docs = self.root / "docs"
        for page in sorted(docs.rglob("*.md")):
            name = page.relative_to(docs).as_posix()
            if not name.startswith("site/") and name != "index.md":
                self.write(name, self.linked(page))
        for notebook in sorted(docs.rglob("*.ipynb")):
            self.write_notebook(notebook)
        for picture in sorted((docs / "images").rglob("*.*")):
            self.copy(picture, picture.relative_to(docs).as_posix())
        for title in ("CHANGELOG", "CONTRIBUTING"):
            self.write(f"{title.lower()}.md", self.linked(self.root / f"{title}.md"))
        for extra in sorted([*(self.root / "diagrams").rglob("*.yaml"), *(self.root / "examples").glob("*.yaml")]):
            self.copy(extra, f"files/{extra.relative_to(self.root).as_posix()}")

    def write_notebook(self, path: Path) -> None:
        """A notebook as a page, and itself to take home; solutions are found by who looks for them."""
        name = path.relative_to(self.root / "docs").with_suffix("")
        up = "../" * (len(name.parts) - 1)
        self.copy(path, f"files/{name.as_posix()}.ipynb")
        hidden = "---\norphan: true\n---\n\n" if "solutions" in name.parts else ""
        take = f"\n\n[This page as a notebook]({up}files/{name.as_posix()}.ipynb)\n"
        self.write(f"{name.as_posix()}.md", hidden + self.linked(path, lesson_page(path, self.root)) + take)

    def linked(self, page: Path, text: str | None = None) -> str:
        """A page whose links to files of the project lead to their place on the site."""
        text = page.read_text(encoding="utf-8") if text is None else text
        depth = len(page.relative_to(self.root / "docs").parts) - 1 if page.is_relative_to(self.root / "docs") else 0
        return LINK.sub(lambda match: match[1] + self.target(page, match[2], "../" * depth) + match[3], text)

    def target(self, page: Path, link: str, up: str) -> str:
        if re.match(r"[a-z]+:|#", link):
            return link
        path, hash_, place = link.partition("#")
        try:
            name = (page.parent / path).resolve().relative_to(self.root).as_posix()
        except ValueError:
            return link
        if name == "examples":
            return f"{up}gallery/index.rst"
        if name.startswith("examples/") and name.endswith(".py"):
            return f"{up}gallery/{Path(name).stem}.rst"
        if name.startswith("docs/") and name.endswith(".ipynb"):
            return f"{up}{name.removeprefix('docs/').removesuffix('.ipynb')}.md{hash_}{place}"
        if name.startswith("docs/") and (self.root / name).is_dir():
            return f"{up}{name.removeprefix('docs/')}/index.md"
        if name.startswith("docs/") and not name.endswith((".md", ".svg", ".png")) and (self.root / name).is_file():
            self.copy(self.root / name, f"files/{name.removeprefix('docs/')}")
            return f"{up}files/{name.removeprefix('docs/')}"
        if name.startswith("docs/"):
            return f"{up}{name.removeprefix('docs/')}{hash_}{place}"
        if name in ("CHANGELOG.md", "CONTRIBUTING.md"):
            return f"{up}{name.lower()}{hash_}{place}"
        if name.startswith(("diagrams/", "examples/")) and name.endswith(".yaml"):
            return f"{up}files/{name}"
        return f"{up}index.md" if name == "README.md" else link

    def write_examples(self) -> None:
        """The examples with a title and a picture of the diagram they run, as the gallery wants them."""
        from blocksim.diagram.loader import bundled

        names = sorted(bundled(), key=len, reverse=True)
        self.write("examples/GALLERY_HEADER.rst", "Examples\n========\n\nShort scripts that teach; the tests run each of them.\n")
        for path in sorted((self.root / "examples").glob("*.py")):
            text = path.read_text(encoding="utf-8")
            title = example_title(path.stem)
            first = re.match(r'"""(.*?)"""', text, re.DOTALL)
            intro = first[1].strip().split("\n\n")[0].replace("*", r"\*") if first else ""
            intro = re.sub(r": python examples/\S+$", ".", intro)
            body = text[first.end() :] if first else text
            picture = self.thumbnail(path.stem, text, names)
            note = f"# sphinx_gallery_thumbnail_path = '{picture}'\n"
            head = f'r"""\n{title}\n{"=" * len(title)}\n\n{intro}\n\nRun it: ``python examples/{path.name}``\n"""\n'
            self.write(f"examples/{path.name}", head + note + body.lstrip("\n"))

    def thumbnail(self, stem: str, text: str, names: list[str]) -> str:
        """A figure that an example makes for these pages, a picture of the diagram it holds or names, or its own first lines."""
        import blocksim as bs
        from blocksim.pictures.draw import draw_svg

        for figure in re.findall(r'"(\w+\.png)"', text):
            if (self.root / "docs" / "images" / figure).is_file():
                return f"images/{figure}"
        texts = [part for part in re.findall(r'"""(.*?)"""', text, re.DOTALL) if "format: 1" in part]
        named = [name for name in names if f'"{name}"' in text]
        for candidate in [*texts, *named, *re.findall(r'"([\w/]+\.yaml)"', text)]:
            local = self.root / "examples" / Path(candidate).name if candidate.endswith(".yaml") else candidate
            try:
                self.write(f"images/examples/{stem}.svg", draw_svg(local))
            except (bs.BlocksimError, OSError, ValueError):
                continue
            return f"images/examples/{stem}.svg"
        self.write(f"images/examples/{stem}.svg", script_svg(text))
        return f"images/examples/{stem}.svg"

    def write_sections(self) -> None:
        """A page for each kind of reader, and the front page."""
        pages = [path for path in self.files if path.suffix in (".md", ".rst")]
        staged = {path.relative_to(self.source).with_suffix("").as_posix() for path in pages}
        staged |= {"gallery/index"}
        taken = {name for _, _, names in SECTIONS.values() for name in names}
        hidden = ("blocks/", "api/", "examples/", "course/")
        own = {*SECTIONS, "index"}
        rest = sorted(name for name in staged - taken - own if not name.startswith(hidden) and "/" not in name)
        for key, (title, words, names) in SECTIONS.items():
            entries = [entry for name in names for entry in matching(staged, name)] + (rest if key == "how-to" else [])
            listing = "\n".join(entries)
            self.write(f"{key}.md", f"# {title}\n\n{words}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listing}\n```\n")
        front = self.linked(self.root / "docs" / "index.md")
        toctree = "```{toctree}\n:hidden:\n\n" + "\n".join(SECTIONS) + "\n```\n"
        links = "\n".join(f"- **[{title}]({key}.md)**: {words}" for key, (title, words, _) in SECTIONS.items())
        head, _, tail = front.partition("Or read in this order:")
        self.write("index.md", f"{head}{links}\n\n## Pages in reading order\n{tail}\n{toctree}")


def example_title(stem: str) -> str:
    """`ekf_loop` -> EKF loop, `brunot2017` -> Brunot 2017."""
    words = re.sub(r"(?<=[a-z]{3})(?=\d)|_", " ", stem).split()
    words[0] = words[0].capitalize()
    return " ".join(w.upper() if w.lower() in ABBREVIATIONS else w.capitalize() if w in NAMES else w for w in words)


def script_svg(text: str) -> str:
    """What a script does first, as a picture of its lines."""
    body = re.sub(r'^""".*?"""\s*', "", text, flags=re.DOTALL)
    lines = [line[:46] for line in body.splitlines() if line.strip() and not line.startswith(("import ", "from "))][:9]
    rows = "".join(
        f'<text x="14" y="{30 + 22 * n}" xml:space="preserve" fill="{"#777" if line.lstrip().startswith("#") else "#222"}">'
        f"{escape(line)}</text>"
        for n, line in enumerate(lines)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 230" width="420" height="230" '
        'font-family="monospace" font-size="14">'
        f'<rect width="420" height="230" fill="#f7f7f7"/>{rows}</svg>\n'
    )


def matching(staged: set[str], name: str) -> list[str]:
    """The pages a name stands for: itself, or all of a folder."""
    if name.endswith("/*"):
        pages = [page for page in staged if page.startswith(name[:-1]) and "/solutions/" not in page]
        return sorted(pages, key=lambda page: (not page.endswith("/index"), page))
    return [name] if name in staged else []
