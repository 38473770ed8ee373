"""The application: the HTTP API, the pages and the gate, put together. docs/service.md lists the endpoints."""

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service import pages
from discreet.service.api import add_endpoints
from discreet.service.errors import status_of
from discreet.service.gate import Gate
from discreet.service.openapi import describe
from discreet.service.runtime import Service
from discreet.service.settings import Settings
from discreet.service.sharing import Sharing
from discreet.service.store import Store

_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Return the collector as an ASGI application.

    Parameters
    ----------
    store : Store
        Where everything is stored.
    settings : Settings, optional
        Limits; the defaults suit one machine that faces the internet behind a proxy with TLS.
    """
    service = Service(store, settings or Settings())
    _log_no_addresses()
    app = FastAPI(
        title="discreet collector",
        version=__version__,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        lifespan=service.running,
    )
    app.state.service = service
    _handle_errors(app)
    add_endpoints(app, service)
    app.add_middleware(Gate, settings=service.settings, writer=service.writer, metrics=service.metrics)
    app.add_middleware(Sharing, listed=service.listed)  # around the gate: other sites must see its refusals
    pages.mount(app, service)
    describe(app)
    return app


def _log_no_addresses() -> None:
    """Switch off the log of requests that servers keep by themselves: its lines begin with people's addresses."""
    for name in ("uvicorn.access", "hypercorn.access", "gunicorn.access", "granian.access"):
        log = logging.getLogger(name)
        log.handlers.clear()
        log.propagate, log.disabled = False, True


def _handle_errors(app: FastAPI) -> None:
    def not_found(request: Request) -> Response:
        found: Response = app.state.not_found(request)
        return found

    async def discreet_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, DiscreetError)
        status = status_of(error)
        return JSONResponse({"error": str(error)}, status, _HEADERS.get(status))

    async def wrong_field(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if _is_for_people(request):  # the only field of a page is the id in its path
            return not_found(request)
        first = error.errors()[0]  # without its input, which may be private or not be JSON
        where = ".".join(str(part) for part in first["loc"])
        return JSONResponse({"error": f"{where}: {first['msg']}"}, 422)

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404 and _is_for_people(request):
            return not_found(request)
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    app.add_exception_handler(DiscreetError, discreet_error)
    app.add_exception_handler(RequestValidationError, wrong_field)
    app.add_exception_handler(HTTPException, http_error)


def _is_for_people(request: Request) -> bool:
    """Whether somebody opens a page in a browser, and should not see JSON; scripts and programs do not ask for HTML."""
    is_call = request.scope["path"].startswith(("/api/", "/pages/", "/static/", "/health", "/metrics", "/openapi"))
    return request.method == "GET" and not is_call and "text/html" in request.headers.get("accept", "")
