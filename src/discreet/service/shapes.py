"""The shapes of the collector's answers, for its OpenAPI document: what they always have. There may be more fields."""

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}
ANY: Json = {}
HEXADECIMAL: Json = {"type": "string", "pattern": "^[0-9a-f]{32}$"}


def _or_null(shape: Json) -> Json:
    return {"anyOf": [shape, {"type": "null"}]}


def _list(shape: Json) -> Json:
    return {"type": "array", "items": shape}


def _object(required: Json, optional: Json | None = None) -> Json:
    return {"type": "object", "required": list(required), "properties": required | (optional or {})}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_CAMPAIGN: Json = {
    "id": HEXADECIMAL,
    "title": TEXT,
    "question": TEXT,
    "state": TEXT,
    "opens": _or_null(TEXT),
    "closes": _or_null(TEXT),
    "minimum": WHOLE,
    "admission": {"enum": ["open", "issued", "invited"]},
    "public_results": FLAG,
    "epsilon": NUMBER,
    "method": TEXT,
    "plan": {"type": "object"},
}
_WITHHELD: Json = {"withheld": FLAG}
SHAPES: dict[str, Json] = {
    "Error": _object({"error": TEXT}),
    "Health": _object({"status": {"enum": ["ok", "degraded"]}, "version": TEXT, "waiting": WHOLE}, {"reason": TEXT}),
    "Alive": _object({"status": {"const": "ok"}}),
    "Outcome": _object(
        {
            "received": WHOLE,
            "accepted": WHOLE,
            "replayed": WHOLE,
            "refused": WHOLE,
            "statuses": _list(_object({"index": WHOLE, "status": TEXT})),
        }
    ),
    "Campaign": _object(_CAMPAIGN),
    "Asked": _object({"campaign": _ref("Campaign"), "round": _or_null(TEXT), "id": _or_null(HEXADECIMAL)}),
    "Rounds": _object({"rounds": _list(_object({"round": WHOLE, "state": TEXT, "sha256": TEXT}))}),
    "Ids": _object({"ids": _list(HEXADECIMAL)}),
    "Progress": _object(
        _CAMPAIGN
        | {
            "n": WHOLE,
            "participants": _or_null(WHOLE),
            "groups": _or_null(_list(_object({"group": ANY, "n": WHOLE}))),
            "rounds": _list({"type": "object"}),
            "link": _or_null(TEXT),
            "days": _list({"type": "object"}),
            "tickets": _or_null({"type": "object"}),
        },
        {"warnings": _list(TEXT)},
    ),
    "Estimate": _object(
        _WITHHELD,
        {"reason": TEXT, "n": WHOLE, "minimum": WHOLE, "estimate": ANY, "interval_kind": TEXT, "final": FLAG},
    ),
    "Tally": _object(_WITHHELD, {"reason": TEXT, "n": WHOLE, "minimum": WHOLE, "rounds": _list({"type": "object"})}),
    "Fit": _object({}, {"alarm": FLAG, "channels": _list({"type": "object"}), "withheld": FLAG, "reason": TEXT}),
    "Looked": _object(
        {"plan": {"type": "object"}, "round": ANY, "mechanisms": _list({"type": "object"}), "warnings": _list(TEXT)}
    ),
    "Token": _object({"token": TEXT}),
}
"""Each shape by its name in the document."""

ANSWERS: dict[tuple[str, str], str] = {
    ("/health", "get"): "Health",
    ("/health/live", "get"): "Alive",
    ("/health/ready", "get"): "Alive",
    ("/api/campaigns/{identifier}", "get"): "Campaign",
    ("/api/campaigns/{identifier}/ask", "post"): "Asked",
    ("/api/campaigns/{identifier}/rounds", "get"): "Rounds",
    ("/api/campaigns/{identifier}/ids", "post"): "Ids",
    ("/api/campaigns/{identifier}/reports", "post"): "Outcome",
    ("/api/campaigns", "post"): "Progress",
    ("/api/campaigns/{identifier}/progress", "get"): "Progress",
    ("/api/campaigns/{identifier}", "patch"): "Progress",
    ("/api/campaigns/{identifier}/close", "post"): "Progress",
    ("/api/campaigns/{identifier}/groups", "post"): "Progress",
    ("/api/campaigns/{identifier}/estimate", "get"): "Estimate",
    ("/api/campaigns/{identifier}/tally", "get"): "Tally",
    ("/api/campaigns/{identifier}/fit", "get"): "Fit",
    ("/api/plan", "post"): "Looked",
    ("/api/tokens", "post"): "Token",
}
"""Which shape an endpoint answers with."""


def add_shapes(document: Json) -> None:
    """Give an OpenAPI document the shapes of answers, and say where a token is needed."""
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(SHAPES)
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of an administrator: dct-…"}
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            shape = ANSWERS.get((path, method))
            answered = next((one for code, one in operation["responses"].items() if code in ("200", "201")), None)
            if shape and answered is not None:
                answered["content"] = {"application/json": {"schema": _ref(shape)}}
            if "401" in operation["responses"]:
                is_public = "results" in operation.get("tags", [])  # where the campaign's results are
                operation["security"] = [{"token": []}, *([{}] if is_public else [])]
            named = [one for one in operation.get("parameters", []) if one["name"].lower() != "authorization"]
            if "parameters" in operation:
                operation["parameters"] = named
