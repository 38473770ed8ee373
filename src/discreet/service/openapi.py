"""The OpenAPI document: the meaning of every status, and what FastAPI does not see by itself."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from discreet.messages.uploads import MEDIA_TYPE
from discreet.service.gate import UPLOAD_PATH
from discreet.service.shapes import add_shapes

_MEANING = {
    400: "The request does not follow the wire format.",
    401: "A valid bearer token is needed.",
    403: "The administrator's role does not allow this.",
    404: "There is no such campaign.",
    408: "The body arrived too slowly.",
    409: "The campaign's state does not allow this.",
    413: "The body is too large.",
    415: "The body is compressed or has another type.",
    422: "A field is wrong; the message says which.",
    503: "Reports cannot be stored now; the message says why.",
    429: "Too many requests, or the store cannot write now. Nothing was stored: try again.",
}
_ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}


def responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of an endpoint's errors: these and those that every endpoint has."""
    return {code: {"description": _MEANING[code], **_ERROR} for code in (*codes, 400, 408, 413, 415, 422, 429)}


def describe(app: FastAPI) -> None:
    """Add the binary upload and the shape of errors to the application's OpenAPI document."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        found = get_openapi(title=app.title, version=app.version, routes=app.routes)
        described = {str(code): value for code, value in responses(404).items()}
        described["200"] = {
            "description": "The outcome for each report.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Outcome"}}},
        }
        found["paths"][UPLOAD_PATH] = {
            "post": {
                "tags": ["people"],
                "summary": "Upload packed reports",
                "operationId": "upload",
                "requestBody": {
                    "required": True,
                    "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
                },
                "responses": described,
            }
        }
        add_shapes(found)
        app.openapi_schema = found
        return found

    app.openapi = openapi  # type: ignore[method-assign]
