"""The endpoints of the HTTP API; docs/service.md lists them. Binary uploads do not come here: `gate` takes them."""

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.messages.rounds import write_round
from discreet.messages.uploads import Upload
from discreet.plans.registry import read_plan
from discreet.service.access import ADMINISTRATOR, RESULTS, Identifier
from discreet.service.bodies import (
    CampaignChange,
    JsonUpload,
    NewCampaign,
    NewGroups,
    NewToken,
    PlanOnly,
    Some,
    Tickets,
)
from discreet.service.errors import Conflict, Missing, Refused
from discreet.service.exports import FORMATS, export
from discreet.service.gate import answer
from discreet.service.openapi import responses
from discreet.service.results import early, plain
from discreet.service.runtime import Service
from discreet.service.writer import STATUSES

Json = dict[str, Any]
_PLAN_ERRORS = (TypeError, ArithmeticError, RecursionError, LookupError, MemoryError, ValueError)
"""What a plan of hostile values may raise; the client is told that the plan is not valid."""


def add_endpoints(app: FastAPI, service: Service) -> None:
    """Add all endpoints to an application."""
    operations(app, service)
    for_people(app, service)
    for_administrators(app, service)
    for_viewers(app, service)


def operations(app: FastAPI, service: Service) -> None:
    """Add what operators and monitors call."""

    @app.get("/health", tags=["operations"], responses=responses())
    def health() -> Json:
        """Return whether the store responds: the status is ok or degraded."""
        well = service.store.is_well() and service.writer.is_alive()
        return {"status": "ok" if well else "degraded", "version": __version__, "waiting": service.writer.waiting}

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse, responses=responses())
    def metrics() -> str:
        """Return this worker's counters in Prometheus' text format."""
        return service.metrics.text(STATUSES, service.writer.waiting, service.store.is_well())


def for_people(app: FastAPI, service: Service) -> None:
    """Add what people who answer, and their devices, call."""
    campaigns = service.campaigns

    @app.get("/api/campaigns/{identifier}", tags=["people"], responses=responses(404))
    def campaign(identifier: Identifier) -> Json:
        """Return what everybody may know about a campaign."""
        return campaigns.public(campaigns.find(bytes.fromhex(identifier)))

    @app.get("/api/campaigns/{identifier}/round", tags=["people"], response_model=Json, responses=responses(404, 409))
    def open_round(identifier: Identifier) -> Response:
        """Return the open round: its mechanisms, its encoders, and which ids answer which channel."""
        return Response(campaigns.round(bytes.fromhex(identifier)), media_type="application/json")

    @app.get("/api/campaigns/{identifier}/rounds", tags=["people"], responses=responses(404))
    def rounds(identifier: Identifier) -> Json:
        """Return the number, state and SHA-256 of every round so far."""
        return {"rounds": campaigns.rounds(bytes.fromhex(identifier))}

    @app.post("/api/campaigns/{identifier}/ids", tags=["people"], responses=responses(404, 409))
    def ids(identifier: Identifier, wanted: Some) -> Json:
        """Hand out report ids (admission: issued)."""
        return {"ids": campaigns.issue(bytes.fromhex(identifier), wanted.count)}

    @app.post("/api/campaigns/{identifier}/reports", tags=["people"], responses=responses(404))
    async def reports(identifier: Identifier, upload: JsonUpload) -> Response:
        """Accept reports as JSON, as an alternative to the binary upload. Returns the outcome for each."""
        widths = {len(one.report) // 2 for one in upload.reports}
        if len(widths) != 1:
            raise Refused(400, "all reports of an upload must have the same length")
        entries = bytes.fromhex("".join(one.id + one.report for one in upload.reports))
        read = Upload(bytes.fromhex(identifier), upload.round, widths.pop(), entries)
        service.metrics.uploads += 1
        return Response(answer(await service.writer.submit(read)), media_type="application/json")


def for_administrators(app: FastAPI, service: Service) -> None:
    """Add what administrators call."""
    campaigns, store = service.campaigns, service.store
    guarded: dict[str, Any] = {"tags": ["administration"], "dependencies": [ADMINISTRATOR]}

    @app.get("/api/campaigns", responses=responses(401), **guarded)
    def listed() -> Json:
        """List all campaigns with their progress."""
        return {"campaigns": campaigns.listed()}

    @app.post("/api/campaigns", status_code=201, responses=responses(401), **guarded)
    def create(new: NewCampaign) -> Json:
        """Start a campaign. Its first round opens at once, or on the day given by ``opens``."""
        try:
            identifier = campaigns.create(**new.model_dump())
        except _PLAN_ERRORS as error:
            raise _plan_error(error) from error
        return campaigns.progress(identifier)

    @app.post("/api/plan", responses=responses(401), **guarded)
    def look_at_plan(given: PlanOnly) -> Json:
        """Check a plan and describe its first round without starting a campaign."""
        try:
            plan = read_plan(given.plan)
            first = plan.round([])
            described = [] if first is None else [c.mechanism.describe() | {"key": c.key} for c in first.channels]
            document = None if first is None else write_round(first)
        except _PLAN_ERRORS as error:
            raise _plan_error(error) from error
        return {"plan": plain(plan.to_dict()), "round": document, "mechanisms": plain(described)}

    @app.patch("/api/campaigns/{identifier}", responses=responses(401, 404), **guarded)
    def change(identifier: Identifier, changes: CampaignChange) -> Json:
        """Change title, question, dates, minimum or whether results are public."""
        given = changes.model_dump(exclude_unset=True)
        for name in ("title", "question", "minimum", "public_results"):
            if name in given and given[name] is None:
                raise DiscreetError(f"{name} must not be null; leave it out to keep it")
        campaigns.change(bytes.fromhex(identifier), given)
        return campaigns.progress(bytes.fromhex(identifier))

    @app.delete("/api/campaigns/{identifier}", responses=responses(401, 404), **guarded)
    def delete(identifier: Identifier) -> Json:
        """Delete a campaign with all its reports."""
        campaigns.delete(bytes.fromhex(identifier))
        return {"deleted": identifier}

    @app.post("/api/campaigns/{identifier}/close", responses=responses(401, 404, 409), **guarded)
    def close(identifier: Identifier) -> Json:
        """Close the open round; the plan's next round opens, or the campaign is finished."""
        campaigns.close(bytes.fromhex(identifier))
        return campaigns.progress(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/tickets", responses=responses(401, 404, 409), **guarded)
    def tickets(identifier: Identifier, wanted: Tickets) -> Json:
        """Make one-time invitation tickets (admission: invited); they cannot be shown again."""
        return {"tickets": campaigns.invite(bytes.fromhex(identifier), wanted.count, wanted.group)}

    @app.post("/api/campaigns/{identifier}/groups", responses=responses(401, 404, 409), **guarded)
    def add_groups(identifier: Identifier, new: NewGroups) -> Json:
        """Add public groups to a campaign by group. Its link changes, because it announces another list of groups."""
        campaigns.add_groups(bytes.fromhex(identifier), new.labels)
        return campaigns.progress(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/rebuild", responses=responses(401, 404), **guarded)
    def rebuild(identifier: Identifier) -> Json:
        """Count all stored reports again and replace the tallies."""
        return {"rounds": campaigns.rebuild(bytes.fromhex(identifier))}

    @app.get("/api/tokens", responses=responses(401), **guarded)
    def tokens() -> Json:
        """List the names of the administrators' tokens."""
        return {"tokens": [row | {"created": row["created"].isoformat()} for row in store.tokens()]}

    @app.post("/api/tokens", status_code=201, responses=responses(401), **guarded)
    def new_token(new: NewToken) -> Json:
        """Make a token; it cannot be shown again."""
        return {"token": store.new_token(new.name, service.settings.today())}

    @app.delete("/api/tokens/{name}", responses=responses(401, 404), **guarded)
    def drop_token(name: Annotated[str, Path(pattern="^[0-9a-f]{8}$")]) -> Json:
        """Delete a token."""
        if not store.drop_token(name):
            raise Missing("there is no such token")
        return {"deleted": name}


def for_viewers(app: FastAPI, service: Service) -> None:
    """Add what those who may see the results call."""
    campaigns, results = service.campaigns, service.results
    guarded: dict[str, Any] = {"tags": ["results"], "dependencies": [RESULTS]}

    @app.get("/api/campaigns/{identifier}/progress", responses=responses(401, 404), **guarded)
    def progress(identifier: Identifier) -> Json:
        """Return rounds, counts, targets and reports per day."""
        return campaigns.progress(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/tally", responses=responses(401, 404), **guarded)
    def tally(identifier: Identifier) -> Json:
        """Return the live tallies, or why they are withheld."""
        return results.tally(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/estimate", responses=responses(401, 404), **guarded)
    def estimate(identifier: Identifier) -> Json:
        """Return the estimate with its interval, or why it is withheld.

        ``interval_kind`` is "watched" while intervals hold however often one looks, and "fixed" if they hold for one
        look; they are "fixed" and ``final`` once the campaign was closed at its ``planned`` number of people.
        """
        return results.estimate(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/fit", responses=responses(401, 404), **guarded)
    def fit(identifier: Identifier) -> Json:
        """Return whether some distribution of answers explains the reports (the manipulation alarm)."""
        return results.fit(bytes.fromhex(identifier))

    @app.get(
        "/api/campaigns/{identifier}/export",
        responses=responses(401, 404, 409),
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
            raise Conflict(early(row, n).reason)
        name = f'attachment; filename="{identifier}.{form}"'
        stream = export(service.store, key, form, results.small(key))
        return StreamingResponse(stream, media_type=FORMATS[form], headers={"Content-Disposition": name})


def _plan_error(error: Exception) -> DiscreetError:
    if isinstance(error, DiscreetError):
        return error
    return DiscreetError(f"plan is not valid: {type(error).__name__} {error}"[:500])
