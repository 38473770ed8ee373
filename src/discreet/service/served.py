"""The code that people's browsers run: the files of the pages, their hashes, and the answer page itself.

Nothing is built or rendered for a visitor: the files are served as they lie in the package, and the answer page is the
same bytes for every campaign and every visitor. So anybody with the released package can compare (`verify`); this
module needs nothing but the core.
"""

import base64
import hashlib
import importlib.resources
import json
from functools import cache
from pathlib import Path

STATIC = Path(str(importlib.resources.files("discreet.service"))) / "static"
_ANSWER_PAGE = STATIC.parent / "templates" / "answer.html"
_KINDS = (".css", ".js", ".svg")
_STYLES = ("theme.css", "style.css")


def client_folder() -> Path:
    """Return the folder of the browser client: inside the wheel, or beside the sources in a working tree."""
    packed = STATIC / "client"
    return packed if packed.is_dir() else Path(__file__).parents[3] / "clients" / "javascript" / "src"


@cache
def served_files() -> dict[str, bytes]:
    """Return what is served under each path below ``/static``, in the order of the paths.

    Examples
    --------
    >>> {"/static/answer.js", "/static/client/index.js", "/static/style.css"} <= set(served_files())
    True
    """
    found = {f"/static/{path.name}": path for path in STATIC.iterdir() if path.suffix in _KINDS}
    found |= {f"/static/client/{path.name}": path for path in client_folder().iterdir() if path.suffix in _KINDS}
    return {name: found[name].read_bytes() for name in sorted(found)}


def integrity(data: bytes) -> str:
    """Return the hash of a file in the form that browsers check (subresource integrity).

    Examples
    --------
    >>> integrity(b"")[:20]
    'sha384-OLBgp1GsljhM2'
    """
    return "sha384-" + base64.b64encode(hashlib.sha384(data).digest()).decode()


@cache
def import_map() -> str:
    """Return the import map of the pages: the hash of every module, which browsers check before they run it."""
    modules = {path: integrity(data) for path, data in served_files().items() if path.endswith(".js")}
    return json.dumps({"integrity": modules}, indent=0)


@cache
def policy() -> str:
    """Return the content security policy of the pages: our own files, and inline only the import map."""
    allowed = base64.b64encode(hashlib.sha256(import_map().encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{allowed}'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def styles() -> str:
    """Return the elements that load the style sheets."""
    return "\n".join(
        f'<link rel="stylesheet" href="/static/{name}" integrity="{integrity(served_files()[f"/static/{name}"])}">'
        for name in _STYLES
    )


def script(name: str) -> str:
    """Return the elements that run a module of ours, with the hashes of everything that it imports."""
    checked = integrity(served_files()[f"/static/{name}"])
    return (
        f'<script type="importmap">{import_map()}</script>\n'
        f'<script type="module" src="/static/{name}" integrity="{checked}"></script>'
    )


@cache
def answer_page() -> bytes:
    """Return the page where people answer; its script asks the collector which campaign it is about."""
    text = _ANSWER_PAGE.read_text(encoding="utf-8")
    return text.replace("<!--styles-->", styles()).replace("<!--script-->", script("answer.js")).encode()


def hashes() -> dict[str, str]:
    """Return the hash of the answer page and of every file that the pages load."""
    return {"/c/…": integrity(answer_page())} | {path: integrity(data) for path, data in served_files().items()}
