"""Who may call an endpoint: administrators by bearer token, and everybody where results are public."""

from typing import Annotated

from fastapi import Depends, Header, Path, Request

from discreet.service.errors import Unauthorized
from discreet.service.runtime import Service

Identifier = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The campaign's id, 32 hexadecimal digits.")]
Authorization = Annotated[str | None, Header()]


def authorize(request: Request, authorization: Authorization = None) -> None:
    """Refuse a request without a valid token."""
    service: Service = request.app.state.service
    kind, _, token = (authorization or "").partition(" ")
    token = token.strip() if kind.lower() == "bearer" else ""
    if not token or not token.isascii() or not service.store.knows_token(token):
        raise Unauthorized("this needs a bearer token of the collector's administrators")


def is_administrator(request: Request, identifier: Identifier, authorization: Authorization = None) -> bool:
    """Whether the visitor is an administrator; without a token, one may look where results are public."""
    service: Service = request.app.state.service
    row = service.store.campaign(bytes.fromhex(identifier))
    if row is not None and row["public_results"] and not authorization:
        return False
    authorize(request, authorization)
    return True


def may_see_results(request: Request, identifier: Identifier, authorization: Authorization = None) -> None:
    """Refuse those who may not see the results: where these are public, even a wrong token does no harm."""
    service: Service = request.app.state.service
    row = service.store.campaign(bytes.fromhex(identifier))
    if row is None or not row["public_results"]:
        authorize(request, authorization)


ADMINISTRATOR = Depends(authorize)
RESULTS = Depends(may_see_results)
