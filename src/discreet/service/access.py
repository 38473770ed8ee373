"""Who may call an endpoint: administrators by bearer token and role, and everybody where results are public."""

from typing import Annotated

from fastapi import Depends, Header, Path, Request

from discreet.service.errors import Forbidden, Unauthorized
from discreet.service.runtime import Service
from discreet.service.tokens import Administrator

Identifier = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The campaign's id, 32 hexadecimal digits.")]
Authorization = Annotated[str | None, Header()]


def signed_in(request: Request, authorization: Authorization = None) -> Administrator:
    """Return who sent a request; refuse one without a valid token."""
    service: Service = request.app.state.service
    kind, _, token = (authorization or "").partition(" ")
    token = token.strip() if kind.lower() == "bearer" else ""
    found = None
    if token and token.isascii():
        found = service.store.administrator(token, service.settings.today())
    if found is None:
        raise Unauthorized("this needs a bearer token of the collector's administrators")
    return found


SignedIn = Annotated[Administrator, Depends(signed_in)]


def _with_role(role: str, who: Administrator) -> Administrator:
    if who.campaign is not None:
        raise Forbidden("this link opens the results of one campaign, and nothing else")
    if not who.may(role):
        raise Forbidden(f"this needs the role {role}, but {who.name} has the role {who.role}")
    return who


def viewer(who: SignedIn) -> Administrator:
    """Return an administrator who may look at everything."""
    return _with_role("viewer", who)


def editor(who: SignedIn) -> Administrator:
    """Return an administrator who may change campaigns."""
    return _with_role("editor", who)


def owner(who: SignedIn) -> Administrator:
    """Return an administrator who may delete campaigns and manage administrators."""
    return _with_role("owner", who)


def reader(request: Request, identifier: Identifier, authorization: Authorization = None) -> Administrator | None:
    """Return who looks at a campaign's results; None for a visitor without a token where results are public."""
    service: Service = request.app.state.service
    key = bytes.fromhex(identifier)
    row = service.store.campaign(key)
    if row is not None and row["public_results"] and not authorization:
        return None
    who = signed_in(request, authorization)
    if not who.may_see(key):
        raise Forbidden("this link opens the results of another campaign")
    return who


def may_see_results(request: Request, identifier: Identifier, authorization: Authorization = None) -> None:
    """Refuse those who may not see the results: where these are public, even a wrong token does no harm."""
    service: Service = request.app.state.service
    row = service.store.campaign(bytes.fromhex(identifier))
    if row is None or not row["public_results"]:
        reader(request, identifier, authorization)


Viewer = Annotated[Administrator, Depends(viewer)]
Editor = Annotated[Administrator, Depends(editor)]
Owner = Annotated[Administrator, Depends(owner)]
Reader = Annotated[Administrator | None, Depends(reader)]
RESULTS = Depends(may_see_results)
