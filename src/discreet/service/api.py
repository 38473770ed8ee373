"""The endpoints of the HTTP API; docs/service.md lists them. Binary uploads do not come here: `gate` takes them."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.messages.rounds import write_round
from discreet.messages.uploads import Upload
from discreet.plans.registry import read_plan
from discreet.service.access import RESULTS, Authorization, Editor, Identifier, Owner, Viewer, signed_in
from discreet.service.asked import Asked
from discreet.service.bodies import (
    Asking,
    CampaignChange,
    JsonUpload,
    NewCampaign,
    NewGroups,
    PlanOnly,
    Reopening,
    Some,
    Tickets,
)
from discreet.service.cautions import cautions
from discreet.service.errors import Conflict, Refused
from discreet.service.exports import FORMATS, answer_file, export
from discreet.service.gate import CLIENT, answer
from discreet.service.openapi import responses
from discreet.service.people import for_owners
from discreet.service.results import Withheld, early, plain
from discreet.service.runtime import Service
from discreet.service.signin import for_signing_in

Json = dict[str, Any]
_PLAN_ERRORS = (TypeError, ArithmeticError, RecursionError, LookupError, MemoryError, ValueError)
"""What a plan of hostile values may raise; the client is told that the plan is not valid."""


def add_endpoints(app: FastAPI, service: Service) -> None:
    """Add all endpoints to an application."""
    operations(app, service)
    for_people(app, service)
    for_administrators(app, service)
    for_viewers(app, service)
    for_owners(app, service)
    for_signing_in(app, service)


def operations(app: FastAPI, service: Service) -> None:
    """Add what operators and monitors call."""

    @app.head("/health", include_in_schema=False)
    @app.get("/health", tags=["operations"], responses=responses())
    def health() -> Json:
        """Return whether reports can be stored now: the status is ok, or degraded with the reason."""
        problem = service.health.problem()
        found = {"status": "degraded" if problem else "ok", "version": __version__, "waiting": service.writer.waiting}
        return found | ({"reason": problem} if problem else {})

    @app.head("/health/live", include_in_schema=False)
    @app.get("/health/live", tags=["operations"], responses=responses())
    async def live() -> Json:
        """Return 200 as long as the process answers; restart it if it does not."""
        return {"status": "ok"}

    @app.head("/health/ready", include_in_schema=False)
    @app.get("/health/ready", tags=["operations"], response_model=Json, responses=responses(503))
    def ready() -> Response:
        """Return 200 if a report could be stored now, otherwise 503 and the reason; it is tried with a write."""
        problem = service.health.problem()
        if problem:
            return JSONResponse({"error": problem}, 503, {"Retry-After": "5"})
        return JSONResponse({"status": "ok"})

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse, responses=responses())
    def metrics() -> str:
        """Return the counters of all workers in Prometheus' text format."""
        return service.board.text(service.samples())


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

    @app.post("/api/campaigns/{identifier}/ask", tags=["people"], response_model=Json, responses=responses(404))
    def ask(identifier: Identifier, wanted: Asking) -> Response:
        """Return all that a page needs to ask a person, in one request: the campaign, its open round, and an id.

        ``round`` is the text of the open round, exactly as ``/round`` sends it, or null if none is open.
        """
        found = campaigns.ask(bytes.fromhex(identifier), wanted.id)
        return Response(msgspec.json.encode(found), media_type="application/json")

    @app.get("/api/campaigns/{identifier}/rounds", tags=["people"], responses=responses(404))
    def rounds(identifier: Identifier) -> Json:
        """Return the number, state and SHA-256 of every round so far."""
        return {"rounds": campaigns.rounds(bytes.fromhex(identifier))}

    @app.post("/api/campaigns/{identifier}/ids", tags=["people"], responses=responses(401, 404, 409))
    def ids(request: Request, identifier: Identifier, wanted: Some, authorization: Authorization = None) -> Json:
        """Hand out report ids (admission: issued): one at a time, or many to whoever has a token.

        An id decides which channel its report answers. Whoever could fetch many would keep those that suit them.
        """
        if wanted.count > 1:
            signed_in(request, authorization)
        return {"ids": campaigns.issue(bytes.fromhex(identifier), wanted.count)}

    @app.post("/api/campaigns/{identifier}/reports", tags=["people"], responses=responses(404))
    async def reports(identifier: Identifier, upload: JsonUpload, request: Request) -> Response:
        """Accept reports as JSON, as an alternative to the binary upload. Returns the outcome for each."""
        widths = {len(one.report) // 2 for one in upload.reports}
        if len(widths) != 1:
            raise Refused(400, "all reports of an upload must have the same length")
        entries = bytes.fromhex("".join(one.id + one.report for one in upload.reports))
        read = Upload(bytes.fromhex(identifier), upload.round, widths.pop(), entries)
        service.metrics.uploads += 1
        codes = await service.writer.submit(read, request.scope.get(CLIENT, ""))
        return Response(answer(codes), media_type="application/json")


def for_administrators(app: FastAPI, service: Service) -> None:
    """Add what administrators call."""
    campaigns, note = service.campaigns, service.store.note
    guarded: dict[str, Any] = {"tags": ["administration"]}

    @app.get("/api/campaigns", responses=responses(401, 403), **guarded)
    def listed(who: Viewer) -> Json:
        """List all campaigns with their progress."""
        return {"campaigns": campaigns.listed()}

    @app.post("/api/campaigns", status_code=201, responses=responses(401, 403), **guarded)
    def create(new: NewCampaign, who: Editor) -> Json:
        """Start a campaign. Its first round opens at once, or on the day given by ``opens``."""
        try:
            identifier = campaigns.create(**new.model_dump())
        except _PLAN_ERRORS as error:
            raise _plan_error(error) from error
        note(who, "started", identifier, new.title)
        progress = campaigns.progress(identifier)
        return progress | {"warnings": cautions(progress["epsilon"])}

    @app.post("/api/plan", responses=responses(401, 403), **guarded)
    def look_at_plan(given: PlanOnly, who: Viewer) -> Json:
        """Check a plan and describe its first round without starting a campaign."""
        try:
            plan = read_plan(given.plan)
            first = plan.round([])
            described = [] if first is None else [c.mechanism.describe() | {"key": c.key} for c in first.channels]
            document = None if first is None else write_round(first)
        except _PLAN_ERRORS as error:
            raise _plan_error(error) from error
        found = {"plan": plain(plan.to_dict()), "round": document, "mechanisms": plain(described)}
        return found | {"warnings": cautions(plan.epsilon)}

    @app.patch("/api/campaigns/{identifier}", responses=responses(401, 403, 404), **guarded)
    def change(identifier: Identifier, changes: CampaignChange, who: Editor) -> Json:
        """Change words, dates, minimum, language, whether results are public or the campaign is archived."""
        given = changes.model_dump(exclude_unset=True)
        for name, value in given.items():
            if value is None and name not in ("opens", "closes"):
                raise DiscreetError(f"{name} must not be null; leave it out to keep it")
        campaigns.change(bytes.fromhex(identifier), given)
        service.listed.forget(bytes.fromhex(identifier))
        note(who, "changed", bytes.fromhex(identifier), ", ".join(sorted(given)))
        return campaigns.progress(bytes.fromhex(identifier))

    @app.delete("/api/campaigns/{identifier}", responses=responses(401, 403, 404), **guarded)
    def delete(identifier: Identifier, who: Owner) -> Json:
        """Delete a campaign with all its reports."""
        title = campaigns.find(bytes.fromhex(identifier))["title"]
        campaigns.delete(bytes.fromhex(identifier))
        service.listed.forget(bytes.fromhex(identifier))
        note(who, "deleted", bytes.fromhex(identifier), title)
        return {"deleted": identifier}

    @app.post("/api/campaigns/{identifier}/close", responses=responses(401, 403, 404, 409), **guarded)
    def close(identifier: Identifier, who: Editor) -> Json:
        """Close the open round; the plan's next round opens, or the campaign is finished."""
        campaigns.close(bytes.fromhex(identifier))
        note(who, "closed a round", bytes.fromhex(identifier))
        return campaigns.progress(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/reopen", responses=responses(401, 403, 404, 409), **guarded)
    def reopen(identifier: Identifier, until: Reopening, who: Editor) -> Json:
        """Open the last round of a finished campaign again, for example after a mistyped date."""
        campaigns.reopen(bytes.fromhex(identifier), until.closes)
        note(who, "reopened", bytes.fromhex(identifier))
        return campaigns.progress(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/tickets", responses=responses(401, 403, 404, 409), **guarded)
    def tickets(identifier: Identifier, wanted: Tickets, who: Editor) -> Json:
        """Make one-time invitation tickets (admission: invited); they cannot be shown again."""
        made = campaigns.invite(bytes.fromhex(identifier), wanted.count, wanted.group)
        note(who, "made invitations", bytes.fromhex(identifier), str(wanted.count))
        return {"tickets": made}

    @app.post("/api/campaigns/{identifier}/groups", responses=responses(401, 403, 404, 409), **guarded)
    def add_groups(identifier: Identifier, new: NewGroups, who: Editor) -> Json:
        """Add public groups to a campaign by group. Its link changes, because it announces another list of groups."""
        campaigns.add_groups(bytes.fromhex(identifier), new.labels)
        note(who, "added groups", bytes.fromhex(identifier), str(len(new.labels)))
        return campaigns.progress(bytes.fromhex(identifier))

    @app.post("/api/campaigns/{identifier}/rebuild", responses=responses(401, 403, 404), **guarded)
    def rebuild(identifier: Identifier, who: Editor) -> Json:
        """Count all stored reports again and replace the tallies."""
        counted = campaigns.rebuild(bytes.fromhex(identifier))
        note(who, "counted again", bytes.fromhex(identifier))
        return {"rounds": counted}


def for_viewers(app: FastAPI, service: Service) -> None:
    """Add what those who may see the results call."""
    campaigns, results = service.campaigns, service.results
    guarded: dict[str, Any] = {"tags": ["results"], "dependencies": [RESULTS]}

    @app.get("/api/campaigns/{identifier}/progress", responses=responses(401, 403, 404), **guarded)
    def progress(identifier: Identifier) -> Json:
        """Return rounds, counts, targets and reports per day."""
        return campaigns.progress(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/tally", responses=responses(401, 403, 404), **guarded)
    def tally(identifier: Identifier) -> Json:
        """Return the live tallies, or why they are withheld."""
        return results.tally(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/estimate", responses=responses(401, 403, 404), **guarded)
    def estimate(identifier: Identifier) -> Json:
        """Return the estimate with its interval, or why it is withheld.

        ``interval_kind`` is "watched" while intervals hold however often one looks, and "fixed" if they hold for one
        look; they are "fixed" and ``final`` once the campaign was closed at its ``planned`` number of people.
        """
        return results.estimate(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/dropout", responses=responses(401, 403, 404), **guarded)
    def left(identifier: Identifier) -> Json:
        """Return whether people leave some blocks of a questionnaire more often than others (the dropout alarm)."""
        return results.dropout(bytes.fromhex(identifier))

    @app.get("/api/campaigns/{identifier}/fit", responses=responses(401, 403, 404), **guarded)
    def fit(identifier: Identifier) -> Json:
        """Return whether some distribution of answers explains the reports (the manipulation alarm)."""
        return results.fit(bytes.fromhex(identifier))

    @app.get(
        "/api/campaigns/{identifier}/results",
        responses=responses(401, 403, 404, 409),
        response_class=Response,
        **guarded,
    )
    def results_file(
        identifier: Identifier, form: Annotated[Literal["csv", "parquet"], Query(alias="format")] = "csv"
    ) -> Response:
        """Return the answer as a table for spreadsheets: one row per number, with its interval."""
        answer = results.answer(bytes.fromhex(identifier))
        if isinstance(answer, Withheld):
            raise Conflict(answer.reason)
        name = f'attachment; filename="{identifier[:8]}-results.{form}"'
        return Response(answer_file(answer, form), media_type=FORMATS[form], headers={"Content-Disposition": name})

    @app.get(
        "/api/campaigns/{identifier}/export",
        responses=responses(401, 403, 404, 409),
        response_class=StreamingResponse,
        tags=["administration"],
    )
    def exported(
        identifier: Identifier,
        who: Editor,
        form: Annotated[Literal["csv", "json", "parquet"], Query(alias="format")] = "csv",
    ) -> StreamingResponse:
        """Return all stored reports: round, channel, id and packed report."""
        key = bytes.fromhex(identifier)
        row = campaigns.find(key)
        rounds = service.store.rounds(key)
        n = sum(int(one["n"]) for one in rounds)
        if n < row["minimum"]:
            raise Conflict(early(row, n).reason)
        name = f'attachment; filename="{identifier}.{form}"'
        hidden = results.small(key)
        if all((one["number"], name) in hidden for one in rounds for name in Asked.read(one["document"]).keys):
            raise Conflict(f"no channel has {row['minimum']} reports yet")
        stream = export(service.store, key, form, hidden)
        service.store.note(who, "exported reports", key, form)
        return StreamingResponse(stream, media_type=FORMATS[form], headers={"Content-Disposition": name})


def _plan_error(error: Exception) -> DiscreetError:
    if isinstance(error, DiscreetError):
        return error
    return DiscreetError(f"plan is not valid: {type(error).__name__} {error}"[:500])
