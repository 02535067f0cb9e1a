"""How the page of a report looks, light and dark, and how its tables are sorted: a few lines, nothing from elsewhere."""

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #555; --line: #e2e2e2; --page: #fff; --head: #f4f5f7; --link: #1f6fb4;
        --good: #e3f4e6; --bad: #fde4e1; --flag: #b03a2e; --remark: #7a4b00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --soft: #aaa; --line: #333; --page: #141414; --head: #222428; --link: #7ab8ef;
          --good: #16351f; --bad: #4a1d1a; --flag: #ff8a7a; --remark: #e5b567; }
  figure svg { filter: invert(.92) hue-rotate(180deg); }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 1240px; margin: 2rem auto;
       padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
th, td { padding: .22rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--head); cursor: pointer; } td.words, th.words { text-align: left; }
th[aria-sort=ascending]::after { content: " \\25B2"; } th[aria-sort=descending]::after { content: " \\25BC"; }
td.good { background: var(--good); } td.bad { background: var(--bad); }
pre { background: var(--head); padding: .8rem; overflow-x: auto; font-size: 12.5px; } code { font-size: .92em; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 1rem 2rem;
           align-items: start; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; } li, p, h1 { overflow-wrap: anywhere; }
figure.diagram { overflow-x: auto; } .figures svg { width: 100%; max-width: 760px; }
@media (max-width: 700px) { body { margin: 1rem auto; padding: 0 .6rem; } figure.diagram svg { max-width: none; } }
figcaption { color: var(--soft); font-size: 13px; } .lead { color: var(--soft); }
.remark { color: var(--remark); font-size: 13px; margin: .2rem 0; }
.flag { color: var(--flag); font-weight: 600; } summary { cursor: pointer; color: var(--link); }
"""
#: A click, or Enter, on the head of a column sorts by it: numbers by size, words by letter; again, the other way round.
SCRIPT = """
for (const head of document.querySelectorAll("th")) {
  head.tabIndex = 0;
  const sort = () => {
    const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    const value = row => { const text = row.cells[column].textContent.trim(), number = parseFloat(text);
                           return isNaN(number) ? text : number; };
    const rows = [...body.rows].sort((a, b) => { const x = value(a), y = value(b);
      return (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) * (down ? -1 : 1); });
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
}
"""
