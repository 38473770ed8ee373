"""The code that people's browsers run: the files of the pages, their hashes, and the answer page itself.

Nothing is rendered for a visitor: modules are served as they lie in the package, `bundle` makes one script of them per
page, and the answer page is the same bytes for every campaign and every visitor. So anybody with the released package
can compare (`verify`); this module needs nothing but the core.
"""

import base64
import hashlib
import importlib.resources
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.service.bundle import bundle, named

STATIC = Path(str(importlib.resources.files("discreet.service"))) / "static"
_ANSWER_PAGE = STATIC.parent / "templates" / "answer.html"
_KINDS = (".css", ".js", ".svg")
NOBODY = "'none'"
_STYLES = ("theme.css", "style.css")
_IMPORTED = re.compile(rb'^(?:import|export) .*"\./([^"/]+)";$', re.M)


def client_folder() -> Path:
    """Return the folder of the browser client: inside the wheel, or beside the sources in a working tree."""
    packed = STATIC / "client"
    return packed if packed.is_dir() else Path(__file__).parents[3] / "clients" / "javascript" / "src"


@cache
def modules() -> dict[str, bytes]:
    """Return the files that lie in the package, by their paths below ``/static/``."""
    found = {path.name: path for path in STATIC.iterdir() if path.suffix in _KINDS}
    found |= {f"client/{path.name}": path for path in client_folder().iterdir() if path.suffix in _KINDS}
    return {name: found[name].read_bytes() for name in sorted(found)}


@cache
def bundles() -> dict[str, tuple[str, bytes]]:
    """Return what the pages load: for each page's own module, and for ``style.css``, a file name and its content.

    Examples
    --------
    >>> sorted(bundles())[:2], bundles()["style.css"][0][:6]
    (['answer.js', 'dashboard.js'], 'style-')
    """
    own = {name: data for name, data in modules().items() if "/" not in name and name.endswith(".js")}
    imported = {name.decode() for data in own.values() for name in _IMPORTED.findall(data)}
    found = {name: bundle(name, lambda one: modules()[one].decode()).encode() for name in own if name not in imported}
    found["style.css"] = b"".join(modules()[name] for name in _STYLES)
    return {name: (named(*_parts(name), data), data) for name, data in found.items()}


def _parts(name: str) -> tuple[str, str]:
    return Path(name).stem, Path(name).suffix


@cache
def words(language: str) -> dict[str, Any]:
    """Return the sentences of the answer page in a language; English ones that never change stand in the page itself.

    Examples
    --------
    >>> words("de")["missing"]
    'Diese Frage gibt es nicht'
    """
    return dict(json.loads(modules()[f"words-{language}.js"].decode().removeprefix("export default ")))


def spoken(accepted: str) -> str:
    """Return the first language of an Accept-Language header that the answer page has.

    Examples
    --------
    >>> spoken("it-IT,de-CH;q=0.9,en;q=0.8"), spoken("")
    ('de', 'en')
    """
    wanted = (one.strip()[:2].lower() for one in accepted.split(","))
    return next((one for one in wanted if f"words-{one}.js" in modules()), "en")


@cache
def served_files() -> dict[str, bytes]:
    """Return what is served under each path below ``/static``, in the order of the paths.

    Examples
    --------
    >>> {"/static/answer.js", "/static/client/index.js", "/static/style.css"} <= set(served_files())
    True
    """
    found = {f"/static/{name}": data for name, data in modules().items()}
    found |= {f"/static/bundle/{name}": data for name, data in bundles().values()}
    return dict(sorted(found.items()))


def integrity(data: bytes) -> str:
    """Return the hash of a file in the form that browsers check (subresource integrity).

    Examples
    --------
    >>> integrity(b"")[:20]
    'sha384-OLBgp1GsljhM2'
    """
    return "sha384-" + base64.b64encode(hashlib.sha384(data).digest()).decode()


@cache
def policy(origins: tuple[str, ...] = ()) -> str:
    """Return the content security policy of the pages: our own files, and inline only the answer page's style.

    ``origins`` are the sites that may show the page in a frame: the answer page of a campaign that lists them.
    """
    allowed = base64.b64encode(hashlib.sha256(bundles()["style.css"][1]).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{allowed}'; img-src 'self' data:; "
        f"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {' '.join(origins) or NOBODY}"
    )


def styles() -> str:
    """Return the element that loads the style sheet."""
    name, data = bundles()["style.css"]
    return f'<link rel="stylesheet" href="/static/bundle/{name}" integrity="{integrity(data)}">'


def script(name: str, root: str = "/") -> str:
    """Return the element that runs the bundle of a page's module; ``root`` is the path of the collector."""
    file, data = bundles()[name]
    return f'<script type="module" src="{root}static/bundle/{file}" integrity="{integrity(data)}"></script>'


@cache
def icon() -> str:
    """Return the icon as a link of its own, which needs no request."""
    text = " ".join(modules()["icon.svg"].decode().split())
    return f"data:image/svg+xml,{quote(text, safe='')}"


@cache
def answer_page() -> bytes:
    """Return the page where people answer; its script asks the collector which campaign it is about.

    Its style is inside: with the script, the question and the upload a visitor makes four requests.
    """
    text = _ANSWER_PAGE.read_text(encoding="utf-8")
    style = f"<style>{bundles()['style.css'][1].decode()}</style>"
    return (
        text.replace("<!--styles-->", style)
        .replace("<!--script-->", script("answer.js", root="../"))
        .replace('"/static/icon.svg"', f'"{icon()}"')
        .encode()
    )


def hashes() -> dict[str, str]:
    """Return the hash of the answer page and of every file that the pages load."""
    return {"/c/…": integrity(answer_page())} | {path: integrity(data) for path, data in served_files().items()}
