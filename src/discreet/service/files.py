"""Files that browsers load: bundles, which they may keep for ever, and the modules that bundles are made of."""

import gzip
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles

FOR_EVER = "public, max-age=31536000, immutable"
_KINDS = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Modules(StaticFiles):
    """The modules as they lie in the package: for readers, and for pages that embed the client."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


class Prepared:
    """Bytes that are the same for everybody, compressed once.

    Parameters
    ----------
    data : bytes
        The file.
    suffix : str
        What kind it is, such as ``.js``.
    headers : dict, optional
        Headers of the response.
    """

    def __init__(self, data: bytes, suffix: str, headers: dict[str, str] | None = None) -> None:
        self.data, self.packed = data, gzip.compress(data, mtime=0)
        self._headers = {"Content-Type": f"{_KINDS[suffix]}; charset=utf-8", "Vary": "Accept-Encoding"} | (
            headers or {}
        )

    def response(self, request: Request, headers: dict[str, str] | None = None) -> Response:
        """Return the file, compressed if the browser can read that; ``headers`` replace those of the file."""
        used = self._headers | (headers or {})
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.packed, headers=used | {"Content-Encoding": "gzip"})
        return Response(self.data, headers=used)
