"""The pages: the one where people answer, the dashboard, and the form for a new campaign. No inline scripts.

Anybody may load a page; it is only a frame. What needs a token comes as a piece of HTML from `/pages/…`, which the
page's script requests with the token in the Authorization header. The token is kept in the tab's sessionStorage rather
than in a cookie: browsers send cookies by themselves, so other sites could act in the administrator's name, and a tab's
storage is deleted with the tab. The content security policy admits no scripts but ours, and browsers check the hash of
each (`served`).
"""

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.plans.questionnaire.survey import read_text
from discreet.service import served, views
from discreet.service.access import Editor, Identifier, Reader, Viewer
from discreet.service.errors import Missing, StoreBusy
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
    found.filters["spaced"] = partial(thousands, separator=THIN_SPACE)
    return found


def mount(app: FastAPI, service: Service) -> None:
    """Add the pages to the application."""
    campaigns, templates = service.campaigns, _environment()
    answer_page = Prepared(served.answer_page(), ".html", {"Content-Security-Policy": served.policy()})
    bundles = {
        name: Prepared(data, Path(name).suffix, {"Cache-Control": FOR_EVER}) for name, data in served.bundles().values()
    }

    def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = templates.get_template(name).render(**values)
        return HTMLResponse(text, status, {"Content-Security-Policy": served.policy()})

    hidden: dict[str, Any] = {"include_in_schema": False, "response_class": HTMLResponse}

    @app.get("/", **hidden)
    def home() -> Response:
        """The dashboard: all campaigns."""
        return page("campaigns.html")

    @app.get("/new", **hidden)
    def new() -> Response:
        """The form for a new campaign."""
        return page("new.html", today=service.settings.today().isoformat())

    @app.get("/campaigns/{identifier}", **hidden)
    def campaign(identifier: Identifier) -> Response:
        """The dashboard of one campaign."""
        return page("campaign.html", id=identifier)

    @app.get("/c/{identifier}", **hidden)
    def answer(identifier: str, request: Request) -> Response:
        """The page where people answer: the same bytes for every campaign, so that anybody can compare them."""
        if not re.fullmatch("[0-9a-f]{32}", identifier):
            return page("missing.html", 404)
        try:
            campaigns.find(bytes.fromhex(identifier))
        except Missing:
            return page("missing.html", 404)
        except StoreBusy:
            pass  # the page waits by itself until the store answers again
        return answer_page.response(request)

    @app.get("/pages/campaigns", **hidden)
    def listed(who: Viewer) -> Response:
        """The list of campaigns, a piece of the dashboard."""
        return page("_campaigns.html", campaigns=campaigns.listed())

    @app.get("/pages/campaigns/{identifier}", **hidden)
    def panel(identifier: Identifier, who: Reader) -> Response:
        """The live part of a campaign's dashboard."""
        found = views.campaign(campaigns, service.results, bytes.fromhex(identifier))
        return page("_campaign.html", campaign=found, **_allowed(who))

    @app.post("/pages/advice", **hidden)
    def expected(given: Annotated[dict[str, Any], Body()], who: Editor) -> Response:
        """What to expect from the campaign that a form describes, even if it is not yet complete."""
        try:
            return page("_advice.html", advice=forecast(given))
        except (DiscreetError, ArithmeticError, ValueError) as error:
            return page("_advice.html", 422, advice=None, sentence=str(error))

    @app.post("/pages/survey", include_in_schema=False)
    def survey(given: Annotated[dict[str, Any], Body()], who: Editor) -> dict[str, Any]:
        """The questions of a survey's text, as the form edits them."""
        try:
            return {"questions": as_fields(read_text(str(given.get("text", ""))))}
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            if isinstance(error, DiscreetError):
                raise
            raise DiscreetError(f"this survey cannot be read: {error}"[:300]) from None

    @app.get("/static/bundle/{name}", **hidden)
    async def bundled(name: str, request: Request) -> Response:
        """A script or a style whose name changes with its content."""
        if name not in bundles:
            raise Missing("there is no such file; reload the page")
        return bundles[name].response(request)

    app.mount("/static/client", Modules(directory=served.client_folder()), name="client")
    app.mount("/static", Modules(directory=served.STATIC), name="static")


def _allowed(who: Administrator | None) -> dict[str, bool]:
    """Return what a page offers to whoever looks at it."""
    return {"may_edit": who is not None and who.may("editor"), "may_own": who is not None and who.may("owner")}
