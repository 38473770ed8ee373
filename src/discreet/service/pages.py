"""The pages: the participant's, the dashboard, the form for a new campaign. HTML from templates, no inline script.

A page is a frame that anybody may load. What needs a token comes as a piece of HTML from `/pages/…`, asked for by the
page's script with the token in the Authorization header. The token lives in the tab's sessionStorage: a cookie would be
sent along by the browser on its own, so that other sites could act in the administrator's name; this one is not, and it
is gone with the tab. Against scripts in the page itself neither would help; the policy below admits none but ours.
"""

import importlib.resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Header, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.staticfiles import StaticFiles

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service.app import ADMINISTRATOR, Identifier, Service
from discreet.service.campaigns import Missing
from discreet.service.views import Views, advice

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
STATIC = Path(str(importlib.resources.files("discreet.service"))) / "static"


def client_folder() -> Path:
    """Return the browser client: packed into the wheel, or beside the sources in a working tree."""
    packed = STATIC / "client"
    return packed if packed.is_dir() else Path(__file__).parents[3] / "clients" / "javascript" / "src"


class _Files(StaticFiles):
    """Static files that browsers keep, and ask about before they use them again."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("discreet.service"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.globals["version"] = __version__
    found.filters["spaced"] = lambda n: f"{n:,}".replace(",", "\u202f")
    return found


def mount(app: FastAPI) -> None:
    """Add the pages to the application."""
    service: Service = app.state.service
    campaigns, views, templates = service.campaigns, Views(service.campaigns), _environment()

    def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = templates.get_template(name).render(**values)
        return HTMLResponse(text, status, {"Content-Security-Policy": POLICY})

    def viewer(request: Request, identifier: Identifier, authorization: Annotated[str | None, Header()] = None) -> bool:
        """Whether the visitor is an administrator; others may look where results are public."""
        row = service.store.campaign(bytes.fromhex(identifier))
        if row is not None and row["public_results"] and not authorization:
            return False
        check: Any = ADMINISTRATOR.dependency
        check(request, authorization)
        return True

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
    def answer(identifier: str) -> Response:
        """The participant's page."""
        try:
            asked = campaigns.public(campaigns.find(bytes.fromhex(identifier)))
        except (Missing, ValueError):
            return page("missing.html", 404)
        return page("answer.html", asked=asked)

    @app.get("/pages/campaigns", dependencies=[ADMINISTRATOR], **hidden)
    def listed() -> Response:
        """The list of campaigns, a piece of the dashboard."""
        return page("_campaigns.html", campaigns=views.listed())

    @app.get("/pages/campaigns/{identifier}", **hidden)
    def panel(identifier: Identifier, is_administrator: Annotated[bool, Depends(viewer)]) -> Response:
        """The live part of a campaign's dashboard."""
        found = views.campaign(bytes.fromhex(identifier))
        return page("_campaign.html", campaign=found, is_administrator=is_administrator)

    @app.post("/pages/advice", dependencies=[ADMINISTRATOR], **hidden)
    def advised(given: Annotated[dict[str, Any], Body()]) -> Response:
        """What to expect of the campaign that a half-filled form describes."""
        try:
            return page("_advice.html", advice=advice(given))
        except (DiscreetError, ArithmeticError, ValueError) as error:
            return page("_advice.html", 422, advice=None, sentence=str(error))

    app.mount("/static/client", _Files(directory=client_folder()), name="client")
    app.mount("/static", _Files(directory=STATIC), name="static")
