"""The application: HTTP for administrators, participants and dashboards. docs/service.md lists the endpoints.

Binary uploads do not come here: `gate` takes them. Pages (HTML) are mounted where `discreet.service.pages` is present.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.messages import uploads as envelope
from discreet.messages.rounds import write_round
from discreet.plans.registry import read_plan
from discreet.service.bodies import CampaignChange, JsonUpload, NewCampaign, NewToken, PlanOnly, Some
from discreet.service.campaigns import Campaigns, Conflict, Missing, plain
from discreet.service.exports import FORMATS, export
from discreet.service.gate import UPLOAD_PATH, Gate, answer
from discreet.service.metrics import Metrics
from discreet.service.settings import Settings
from discreet.service.store import Store, StoreBusy
from discreet.service.writer import STATUSES, Refused, Writer

_log = logging.getLogger("discreet.service")

Identifier = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The campaign's id, 32 hexadecimal digits.")]
Answer = dict[str, Any]


class Unauthorized(DiscreetError):
    """A request without a valid bearer token."""


_STATUS: tuple[tuple[type[DiscreetError], int], ...] = (
    (Unauthorized, 401),
    (Missing, 404),
    (Conflict, 409),
    (StoreBusy, 429),
    (DiscreetError, 422),
)
_MEANING = {
    400: "The request does not follow the wire format.",
    401: "Needs a valid bearer token.",
    404: "There is no such campaign.",
    408: "The body came too slowly.",
    409: "The campaign's state does not allow it.",
    413: "The body is too large.",
    415: "The body is compressed or of another type.",
    422: "A field is wrong; the sentence says which.",
    429: "Too many requests, or the store cannot write now: try again, nothing was stored.",
}
_ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}


def _responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: {"description": _MEANING[code], **_ERROR} for code in (*codes, 400, 408, 413, 415, 422, 429)}


class Service:
    """The parts of a running collector, shared by its endpoints."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.campaigns, self.metrics = Campaigns(store, settings), Metrics()
        self.writer = Writer(store, settings, self.metrics, self.round_is_full)
        self._background = ThreadPoolExecutor(max_workers=1, thread_name_prefix="discreet-rounds")
        self._closing: set[bytes] = set()
        self._lock = threading.Lock()

    def round_is_full(self, campaign: bytes) -> None:
        """Close a round whose target is reached, in the background: the next one may take a linear programme."""
        with self._lock:
            if campaign in self._closing:
                return
            self._closing.add(campaign)
        self._background.submit(self._close, campaign)

    def _close(self, campaign: bytes) -> None:
        try:
            self.campaigns.close(campaign)
        except DiscreetError as error:
            _log.warning("round of %s stays open: %s", campaign.hex(), error)
        except Exception:
            _log.exception("round of %s could not be closed", campaign.hex())
        finally:
            with self._lock:
                self._closing.discard(campaign)

    def settle(self) -> None:
        """Wait for rounds that are being closed."""
        self._background.submit(lambda: None).result()

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """Run the writer and the calendar as long as the application runs."""
        self.writer.start()
        ticking = asyncio.create_task(self._tick())
        yield
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        await asyncio.to_thread(self.writer.stop)
        self._background.shutdown(wait=True)

    async def _tick(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self.campaigns.tick)
            except DiscreetError as error:
                _log.warning("the calendar could not be looked at: %s", error)
            except Exception:
                _log.exception("the calendar could not be looked at")
            await asyncio.sleep(self.settings.tick_seconds)


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Return the collector as an ASGI application.

    Parameters
    ----------
    store : Store
        Where everything is kept.
    settings : Settings, optional
        Limits; the defaults suit one machine that faces the internet behind a proxy that speaks TLS.
    """
    service = Service(store, settings or Settings())
    app = FastAPI(
        title="discreet collector",
        version=__version__,
        docs_url=None,  # its page would fetch scripts from elsewhere
        redoc_url=None,
        lifespan=service.running,
    )
    app.state.service = service
    _handle_errors(app)
    _operations(app, service)
    _for_participants(app, service)
    _for_administrators(app, service)
    _results(app, service)
    app.add_middleware(Gate, settings=service.settings, writer=service.writer, metrics=service.metrics)
    if find_spec("discreet.service.pages") is not None:
        import_module("discreet.service.pages").mount(app)
    _describe(app)
    return app


def _handle_errors(app: FastAPI) -> None:
    async def discreet_error(_: Request, error: Exception) -> Response:
        status = next(code for kind, code in _STATUS if isinstance(error, kind))
        status = error.status if isinstance(error, Refused) else status
        headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}.get(status)
        return JSONResponse({"error": str(error)}, status, headers)

    async def wrong_field(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]  # its input is not told: it may be private, or not be JSON
        where = ".".join(str(part) for part in first["loc"])
        return JSONResponse({"error": f"{where}: {first['msg']}"}, 422)

    async def http_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    app.add_exception_handler(DiscreetError, discreet_error)
    app.add_exception_handler(RequestValidationError, wrong_field)
    app.add_exception_handler(HTTPException, http_error)


def _bearer(authorization: str | None) -> str:
    kind, _, token = (authorization or "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _authorize(request: Request, authorization: Annotated[str | None, Header()] = None) -> None:
    service: Service = request.app.state.service
    token = _bearer(authorization)
    if not token or not token.isascii() or not service.store.knows_token(token):
        raise Unauthorized("this needs a bearer token of the collector's administrators")


ADMINISTRATOR = Depends(_authorize)


def _operations(app: FastAPI, service: Service) -> None:
    @app.get("/health", tags=["operations"], responses=_responses())
    def health() -> Answer:
        """Say whether the store answers: status is ok or degraded."""
        well = service.store.is_well() and service.writer.is_alive()
        return {"status": "ok" if well else "degraded", "version": __version__, "waiting": service.writer.waiting}

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse, responses=_responses())
    def metrics() -> str:
        """Return this worker's counters in Prometheus' text format."""
        return service.metrics.text(STATUSES, service.writer.waiting, service.store.is_well())


def _for_participants(app: FastAPI, service: Service) -> None:
    campaigns = service.campaigns

    @app.get("/api/campaigns/{identifier}", tags=["participants"], responses=_responses(404))
    def campaign(identifier: Identifier) -> Answer:
        """Return what everybody may know of a campaign."""
        return campaigns.public(campaigns.find(bytes.fromhex(identifier)))

    @app.get("/api/campaigns/{identifier}/round", tags=["participants"], responses=_responses(404, 409))
    def open_round(identifier: Identifier) -> Answer:
        """Return the open round: mechanism documents, encoders and how ids choose among channels."""
        return campaigns.round(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/ids", tags=["participants"], responses=_responses(404, 409))
    def ids(identifier: Identifier, wanted: Some) -> Answer:
        """Hand out report ids (admission: issued)."""
        return {"ids": campaigns.issue(bytes.fromhex(identifier), wanted.count)}

    @app.post("/api/campaigns/{identifier}/reports", tags=["participants"], responses=_responses(404))
    async def reports(identifier: Identifier, upload: JsonUpload) -> Response:
        """Take reports as JSON: the binary upload for people. Returns what became of each."""
        widths = {len(one.report) // 2 for one in upload.reports}
        if len(widths) != 1:
            raise Refused(400, "reports have different lengths; all reports of a round have the same")
        entries = bytes.fromhex("".join(one.id + one.report for one in upload.reports))
        read = envelope.Upload(bytes.fromhex(identifier), upload.round, widths.pop(), entries)
        service.metrics.uploads += 1
        return Response(answer(await service.writer.submit(read)), media_type="application/json")


def _for_administrators(app: FastAPI, service: Service) -> None:
    campaigns, store = service.campaigns, service.store
    guarded: dict[str, Any] = {"tags": ["administration"], "dependencies": [ADMINISTRATOR]}

    @app.get("/api/campaigns", responses=_responses(401), **guarded)
    def listed() -> Answer:
        """List all campaigns with their progress."""
        return {"campaigns": [campaigns.progress(bytes(row["id"])) for row in store.campaigns()]}

    @app.post("/api/campaigns", status_code=201, responses=_responses(401), **guarded)
    def create(new: NewCampaign) -> Answer:
        """Start a campaign: its first round opens at once, or on the day that ``opens`` names."""
        try:
            identifier = campaigns.create(**new.model_dump())
        except (TypeError, ArithmeticError, RecursionError, LookupError, MemoryError, ValueError) as error:
            raise _as_plan_error(error) from error
        return campaigns.progress(identifier)

    @app.post("/api/plan", responses=_responses(401), **guarded)
    def look_at_plan(given: PlanOnly) -> Answer:
        """Check a plan and describe its first round without starting anything."""
        try:
            plan = read_plan(given.plan)
            first = plan.round([])
            described = [] if first is None else [c.mechanism.describe() | {"key": c.key} for c in first.channels]
            document = None if first is None else write_round(first)
        except (TypeError, ArithmeticError, RecursionError, LookupError, MemoryError, ValueError) as error:
            raise _as_plan_error(error) from error
        return {"plan": plain(plan.to_dict()), "round": document, "mechanisms": plain(described)}

    @app.patch("/api/campaigns/{identifier}", responses=_responses(401, 404), **guarded)
    def change(identifier: Identifier, changes: CampaignChange) -> Answer:
        """Change title, question, dates, minimum or whether results are public."""
        given = changes.model_dump(exclude_unset=True)
        for name in ("title", "question", "minimum", "public_results"):
            if name in given and given[name] is None:
                raise DiscreetError(f"{name} is null; leave it out to keep it")
        campaigns.change(bytes.fromhex(identifier), given)
        return campaigns.progress(bytes.fromhex(identifier))

    @app.delete("/api/campaigns/{identifier}", responses=_responses(401, 404), **guarded)
    def delete(identifier: Identifier) -> Answer:
        """Forget a campaign with all its reports."""
        campaigns.delete(bytes.fromhex(identifier))
        return {"deleted": identifier}

    @app.post("/api/campaigns/{identifier}/close", responses=_responses(401, 404, 409), **guarded)
    def close(identifier: Identifier) -> Answer:
        """Close the open round; the plan's next round opens, or the campaign is finished."""
        campaigns.close(bytes.fromhex(identifier))
        return campaigns.progress(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/tickets", responses=_responses(401, 404, 409), **guarded)
    def tickets(identifier: Identifier, wanted: Some) -> Answer:
        """Make one-time invitation tickets (admission: invited); they are shown this once."""
        return {"tickets": campaigns.invite(bytes.fromhex(identifier), wanted.count)}

    @app.post("/api/campaigns/{identifier}/rebuild", responses=_responses(401, 404), **guarded)
    def rebuild(identifier: Identifier) -> Answer:
        """Count all stored reports again and replace the tallies."""
        return {"rounds": campaigns.rebuild(bytes.fromhex(identifier))}

    @app.get("/api/tokens", responses=_responses(401), **guarded)
    def tokens() -> Answer:
        """List the names of the administrators' tokens."""
        return {"tokens": [row | {"created": row["created"].isoformat()} for row in store.tokens()]}

    @app.post("/api/tokens", status_code=201, responses=_responses(401), **guarded)
    def new_token(new: NewToken) -> Answer:
        """Make a token; it is shown this once."""
        return {"token": store.new_token(new.name, service.settings.today())}

    @app.delete("/api/tokens/{name}", responses=_responses(401, 404), **guarded)
    def drop_token(name: Annotated[str, Path(pattern="^[0-9a-f]{8}$")]) -> Answer:
        """Forget a token."""
        if not store.drop_token(name):
            raise Missing("there is no such token")
        return {"deleted": name}


def _as_plan_error(error: Exception) -> DiscreetError:
    if isinstance(error, DiscreetError):
        return error
    return DiscreetError(f"plan is not valid: {type(error).__name__} {error}"[:500])


def _results(app: FastAPI, service: Service) -> None:
    campaigns = service.campaigns

    def viewer(request: Request, identifier: Identifier, authorization: Annotated[str | None, Header()] = None) -> None:
        row = service.store.campaign(bytes.fromhex(identifier))
        if row is None or not row["public_results"]:
            _authorize(request, authorization)

    guarded: dict[str, Any] = {"tags": ["results"], "dependencies": [Depends(viewer)]}

    @app.get("/api/campaigns/{identifier}/progress", responses=_responses(401, 404), **guarded)
    def progress(identifier: Identifier) -> Answer:
        """Return rounds, counts, targets and reports per day."""
        return campaigns.progress(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/tally", responses=_responses(401, 404), **guarded)
    def tally(identifier: Identifier) -> Answer:
        """Return the live tallies, or that they are withheld below the minimum batch."""
        return campaigns.tally(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/estimate", responses=_responses(401, 404), **guarded)
    def estimate(identifier: Identifier) -> Answer:
        """Return the estimate with its interval, or that it is withheld and why."""
        return campaigns.estimate(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/fit", responses=_responses(401, 404), **guarded)
    def fit(identifier: Identifier) -> Answer:
        """Return whether the reports fit any distribution through their channels (the manipulation alarm)."""
        return campaigns.fit(bytes.fromhex(identifier))

    @app.get(
        "/api/campaigns/{identifier}/export",
        responses=_responses(401, 404, 409),
        response_class=StreamingResponse,
        tags=["administration"],
        dependencies=[ADMINISTRATOR],
    )
    def exported(
        identifier: Identifier, form: Annotated[Literal["csv", "json", "parquet"], Query(alias="format")] = "csv"
    ) -> StreamingResponse:
        """Return all stored reports: round, channel, id and packed report."""
        key = bytes.fromhex(identifier)
        row = campaigns.find(key)
        n = sum(int(one["n"]) for one in service.store.rounds(key))
        if n < row["minimum"]:
            raise Conflict(f"{n} reports so far; nothing is shown below {row['minimum']}")
        name = f'attachment; filename="{identifier}.{form}"'
        stream = export(campaigns, key, form)
        return StreamingResponse(stream, media_type=FORMATS[form], headers={"Content-Disposition": name})


def _describe(app: FastAPI) -> None:
    """Add to the OpenAPI document what FastAPI does not see: the binary upload and the shape of errors."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        found = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas["Error"] = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
        described = {str(code): value for code, value in _responses(404).items()}
        described["200"] = {
            "description": "What became of each report.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
        found["paths"][UPLOAD_PATH] = {
            "post": {
                "tags": ["participants"],
                "summary": "Take packed reports",
                "operationId": "upload",
                "requestBody": {
                    "required": True,
                    "content": {envelope.MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
                },
                "responses": described,
            }
        }
        app.openapi_schema = found
        return found

    app.openapi = openapi  # type: ignore[method-assign]
