"""Render a paper's page as HTML that can be opened from a folder, without a network."""

import html as escaping
import re

from discreet.report import theme
from discreet_papers.verdicts import FAILS, HOLDS, WRONG

COLOURS = {HOLDS: "good", FAILS: "open", WRONG: "bad"}
STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 3rem) 4rem; }
p, ul { max-width: 46rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: .4rem .65rem; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--strong); text-align: left; } tr:last-child td { border-bottom: 0; }
.claims table { min-width: 46rem; table-layout: fixed; } td[style*=right], th[style*=right] { white-space: nowrap; }
img { max-width: 100%; height: auto; background: #fff; border-radius: .4rem; }
pre, code { background: var(--strong); border-radius: .25rem; font-size: .88em; }
pre { padding: .8rem; overflow-x: auto; }
code { padding: .1em .3em; } pre code { padding: 0; } a { color: var(--accent); }
@media (min-width: 45rem) { td:first-child:not([style]) { min-width: 8rem; } }
@media (max-width: 45rem) {
  .claims table { min-width: 0; } .claims thead { display: none; } .claims tr { display: block; padding: .6rem 0; }
  .claims tr + tr { border-top: 1px solid var(--line); }
  .claims td { display: block; border: 0; padding: .15rem .7rem; }
}
.good { color: var(--accent); } .open { color: light-dark(#8a5a00, #e0b050); }
.bad { color: var(--bad); }
"""


def page(markdown: str) -> str:
    """Return a page that needs only the plots beside it; it links only to the other papers' HTML pages.

    Examples
    --------
    >>> "<h1>Title</h1>" in page("# Title")
    True
    """
    from markdown_it import MarkdownIt  # comes with rich

    text = re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\.md\)", r"\1", text)  # pages of the documentation are not here
    body = MarkdownIt("commonmark").enable("table").render(re.sub(r"(\]\([\w-]+)\.md\)", r"\1.html)", text))
    for verdict, colour in COLOURS.items():
        body = body.replace(f"<strong>{verdict}</strong>", f'<strong class="{colour}">{verdict}</strong>')
    body = re.sub(r"<table>\n<thead>\n<tr>\n<th>the paper</th>", r'<div class="wide claims">\g<0>', body)
    body = re.sub(r"(?<!claims\">)<table>", '<div class="wide"><table>', body).replace("</table>", "</table></div>")
    heading = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    title = escaping.escape(heading.group(1) if heading else "discreet")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{theme()}{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
