"""The pages: the one where people answer, the dashboard, and the form for a new campaign. No inline scripts.

Anybody may load a page; it is only a frame. What needs a token comes as a piece of HTML from `/pages/…`, which the
page's script requests with the token in the Authorization header. The token is kept in the tab's sessionStorage rather
than in a cookie: browsers send cookies by themselves, so other sites could act in the administrator's name, and a tab's
storage is deleted with the tab. The content security policy admits no scripts but ours, and browsers check the hash of
each (`served`).
"""

import asyncio
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import segno
from fastapi import Body, FastAPI, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service import served, views
from discreet.service.access import Editor, Identifier, Owner, Reader, Viewer
from discreet.service.bodies import Address
from discreet.service.cautions import cautions
from discreet.service.errors import Missing
from discreet.service.files import FOR_EVER, Modules, Prepared
from discreet.service.forecast import forecast
from discreet.service.runtime import Service
from discreet.service.survey_forecast import as_fields
from discreet.service.tokens import Administrator
from discreet.text import THIN_SPACE, thousands


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("discreet.service"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.globals["version"] = __version__
    found.globals["styles"] = Markup(served.styles())
    found.globals["script"] = lambda name: Markup(served.script(name))
    found.filters["short"] = lambda digest: THIN_SPACE.join(digest[i : i + 4] for i in range(0, 16, 4))
    found.filters["chance"] = lambda p: "p\u00a0<\u00a01e-9" if p < 1e-9 else f"p\u00a0=\u00a0{p:.2g}"
    found.filters["spaced"] = partial(thousands, separator=THIN_SPACE)
    return found


def mount(app: FastAPI, service: Service) -> None:
    """Add the pages to the application."""
    campaigns, templates = service.campaigns, _environment()
    templates.globals["provider"] = service.settings.oidc_name if service.settings.oidc_issuer else ""
    answer_page = Prepared(served.answer_page(), ".html", {"Content-Security-Policy": served.policy()})
    bundles = {
        name: Prepared(data, Path(name).suffix, {"Cache-Control": FOR_EVER}) for name, data in served.bundles().values()
    }

    def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = _below(service.settings.root_path, templates.get_template(name).render(**values))
        return HTMLResponse(text, status, {"Content-Security-Policy": served.policy()})

    def missing(request: Request) -> HTMLResponse:
        """Tell people that there is no such question, in the language of their browser."""
        language = served.spoken(request.headers.get("accept-language", ""))
        return page("missing.html", 404, language=language, words=served.words(language))

    def not_found(request: Request) -> HTMLResponse:
        return missing(request) if request.scope["path"].startswith("/c/") else page("nowhere.html", 404)

    hidden: dict[str, Any] = {"include_in_schema": False, "response_class": HTMLResponse}
    streamed: dict[str, Any] = {"include_in_schema": False, "response_class": StreamingResponse}

    @app.get("/", **hidden)
    def home() -> Response:
        """The dashboard: all campaigns."""
        return page("campaigns.html")

    @app.get("/new", **hidden)
    def new() -> Response:
        """The form for a new campaign."""
        return page("new.html")

    @app.get("/campaigns/{identifier}", **hidden)
    def campaign(identifier: Identifier) -> Response:
        """The dashboard of one campaign."""
        return page("campaign.html", id=identifier)

    @app.get("/campaigns/{identifier}/edit", **hidden)
    def edit(identifier: Identifier) -> Response:
        """The form that edits a campaign."""
        return page("edit.html", id=identifier, is_copy=False)

    @app.get("/campaigns/{identifier}/copy", **hidden)
    def copy(identifier: Identifier) -> Response:
        """The form that starts a copy of a campaign."""
        return page("edit.html", id=identifier, is_copy=True)

    @app.get("/campaigns/{identifier}/report", **hidden)
    def report(identifier: Identifier) -> Response:
        """The results of one campaign, for printing."""
        return page("report.html", id=identifier)

    @app.get("/signin", **hidden)
    def signed_in() -> Response:
        """Where a provider sends an administrator back to."""
        return page("signin.html")

    @app.get("/people", **hidden)
    def people() -> Response:
        """The administrators, and what they did."""
        return page("people.html")

    @app.get("/c/{identifier}", **hidden)
    async def answer(identifier: str, request: Request) -> Response:
        """The page where people answer: the same bytes for every campaign, so that anybody can compare them.

        While the store is busy it is sent all the same, and waits by itself until the store answers again.
        """
        origins = await service.listed.of(bytes.fromhex(identifier)) if is_id(identifier) else None
        if origins is None:
            return missing(request)
        return answer_page.response(request, {"Content-Security-Policy": served.policy(origins)})

    @app.get("/pages/campaigns", **hidden)
    def listed(who: Viewer) -> Response:
        """The list of campaigns, a piece of the dashboard."""
        return page("_campaigns.html", campaigns=campaigns.listed(), **_allowed(who))

    @app.get("/pages/campaigns/events", **streamed)
    async def any_change(who: Viewer) -> Response:
        """Tell the list of campaigns that one of them has changed."""
        return StreamingResponse(service.changes.stream(None), media_type="text/event-stream")

    @app.get("/pages/campaigns/{identifier}", **hidden)
    def panel(identifier: Identifier, who: Reader) -> Response:
        """The live part of a campaign's dashboard."""
        found = views.campaign(campaigns, service.results, bytes.fromhex(identifier))
        return page("_campaign.html", campaign=found, **_allowed(who))

    @app.get("/pages/campaigns/{identifier}/report", **hidden)
    def printed(identifier: Identifier, who: Reader) -> Response:
        """The printable report of a campaign."""
        found = views.campaign(campaigns, service.results, bytes.fromhex(identifier))
        return page("_report.html", campaign=found, today=service.settings.today().isoformat())

    @app.get("/pages/campaigns/{identifier}/events", **streamed)
    @app.get("/pages/campaigns/{identifier}/report/events", **streamed)
    async def changes(identifier: Identifier, who: Reader) -> Response:
        """Tell the page of a campaign that it has changed."""
        await asyncio.to_thread(campaigns.find, bytes.fromhex(identifier))
        return StreamingResponse(service.changes.stream(bytes.fromhex(identifier)), media_type="text/event-stream")

    @app.get("/pages/people", **hidden)
    def administrators(who: Owner) -> Response:
        """The tokens of all administrators and the newest entries of the log."""
        found = views.people(service.store, service.settings.today())
        return page("_people.html", who=who, most=views.MOST_ENTRIES, **found)

    @app.post("/pages/qr", **hidden)
    def qr(given: Address, who: Viewer) -> Response:
        """A link as a QR code, an SVG that scales."""
        drawn = segno.make(given.text, error="m").svg_inline(scale=1, border=2, svgclass="qr-code", omitsize=True)
        return HTMLResponse(drawn)

    @app.post("/pages/advice", **hidden)
    def expected(given: Annotated[dict[str, Any], Body()], who: Editor) -> Response:
        """What to expect from the campaign that a form describes, even if it is not yet complete."""
        try:
            advice = forecast(given)
            return page("_advice.html", advice=advice, cautions=cautions(advice["epsilon"]))
        except (DiscreetError, ArithmeticError, ValueError) as error:
            return page("_advice.html", 422, advice=None, sentence=str(error))

    @app.post("/pages/survey", include_in_schema=False)
    def survey(given: Annotated[dict[str, Any], Body()], who: Editor) -> dict[str, Any]:
        """The questions of a survey's text, as the form edits them."""
        return {"questions": as_fields(str(given.get("text", "")))}

    @app.get("/static/bundle/{name}", **hidden)
    async def bundled(name: str, request: Request) -> Response:
        """A script or a style whose name changes with its content."""
        if name not in bundles:
            raise Missing("there is no such file; reload the page")
        return bundles[name].response(request)

    app.state.not_found = not_found
    app.mount("/static/client", Modules(directory=served.client_folder()), name="client")
    app.mount("/static", Modules(directory=served.STATIC), name="static")


def is_id(text: str) -> bool:
    """Whether a text may be the id of a campaign."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


def _allowed(who: Administrator | None) -> dict[str, bool]:
    """Return what a page offers to whoever looks at it."""
    roles = {"may_look": "viewer", "may_edit": "editor", "may_own": "owner"}
    return {name: who is not None and who.may(role) for name, role in roles.items()}


def _below(root: str, text: str) -> str:
    """Return a page whose links are right where a proxy serves the collector below a path.

    Examples
    --------
    >>> _below("/survey", '<html lang="en"><a href="/new">')
    '<html data-root="/survey" lang="en"><a href="/survey/new">'
    """
    if not root:
        return text
    return re.sub(r'(href|src)="/', rf'\1="{root}/', text.replace("<html ", f'<html data-root="{root}" ', 1))
