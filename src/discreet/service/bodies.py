"""The bodies of requests, checked by pydantic."""

import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _clean(text: str) -> str:
    if any(ord(c) < 32 and c not in "\n\t" for c in text) or any(0xD800 <= ord(c) < 0xE000 for c in text):
        raise ValueError("text must not contain control characters or surrogates")
    return text


def _clean_values(values: dict[str, Any]) -> dict[str, Any]:
    waiting: list[Any] = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            _clean(value)
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int) and abs(value) >= 1 << 63:
            raise ValueError("whole numbers must be smaller than 2^63")
    return values


Text = Annotated[str, Field(max_length=2000), AfterValidator(_clean)]
Short = Annotated[str, Field(max_length=200), AfterValidator(_clean)]
Zone = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_clean)]
Language = Literal["", "ar", "de", "en", "es", "fr"]
Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_clean)]
PlanValues = Annotated[
    dict[str, Any],
    AfterValidator(_clean_values),
    Field(description="What `Plan.to_dict` writes: question, domain, epsilon and the plan's other fields."),
]
Label = Annotated[str, Field(max_length=200), AfterValidator(_clean)] | bool | int | float
Count = Annotated[int, Field(ge=1, le=1 << 40)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


Origins = Annotated[
    list[Annotated[str, Field(max_length=300)]],
    Field(max_length=20, description="Sites that may embed the campaign, such as https://news.example."),
]


class NewCampaign(_Body):
    """A campaign to start."""

    plan: PlanValues
    title: Title
    question: Text = ""
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    minimum: Count = 100
    people: Annotated[Count | None, Field(alias="participants", description="Expected people.")] = None
    admission: Literal["open", "issued", "invited"] = "issued"
    public_results: bool = False
    consent: Annotated[Text, Field(description="What people must agree to before they answer; empty for nothing.")] = ""
    contact: Annotated[Short, Field(description="Whom people can ask, such as an e-mail address.")] = ""
    unit: Annotated[Short, Field(description="Of the numbers that people answer, such as minutes.")] = ""
    language: Annotated[Language, Field(description="Of the answer page; empty for that of the browser.")] = ""
    zone: Annotated[Zone, Field(description="Time zone of the first and last day, such as Europe/Berlin.")] = "UTC"
    origins: Origins = []  # pydantic copies it


class CampaignChange(_Body):
    """Changes to a campaign; its plan cannot be changed."""

    title: Title | None = None
    question: Text | None = None
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    minimum: Count | None = None
    public_results: bool | None = None
    consent: Text | None = None
    contact: Short | None = None
    unit: Short | None = None
    language: Language | None = None
    archived: bool | None = None
    zone: Zone | None = None
    origins: Origins | None = None


class Reopening(_Body):
    """Until when a campaign is open again."""

    closes: Annotated[datetime.date | None, Field(description="The new last day; null for none.")] = None


class PlanOnly(_Body):
    """A plan to check before asking anyone."""

    plan: PlanValues


class Some(_Body):
    """How many ids or tickets to make."""

    count: Annotated[int, Field(ge=1, le=10_000)] = 1


class Tickets(Some):
    """How many tickets to make, and for which public group if for one."""

    group: Label | None = None


class NewGroups(_Body):
    """Public groups to add."""

    labels: Annotated[list[Label], Field(min_length=1, max_length=4096)]


class Asking(_Body):
    """What a page that asks a person needs."""

    id: Annotated[bool, Field(description="Whether to hand out a report id, where the collector does so.")] = False


class Address(_Body):
    """A link to draw as a QR code."""

    text: Annotated[str, Field(min_length=1, max_length=1000, pattern="^https?://")]


class NewToken(_Body):
    """A token to make for an administrator."""

    name: Title
    role: Literal["viewer", "editor", "owner"] = "owner"
    expires: Annotated[datetime.date | None, Field(description="The last day on which it works.")] = None


class NewAccount(_Body):
    """Somebody who may sign in through the provider."""

    name: Title
    role: Literal["viewer", "editor", "owner"] = "viewer"
    invited: Annotated[Title, Field(description="A verified e-mail address, or the provider's subject.")]


class SignIn(_Body):
    """What a tab brings back from the provider, and what it has kept meanwhile."""

    code: Annotated[str, Field(min_length=1, max_length=4096, pattern="^[\\x20-\\x7e]+$")]
    verifier: Annotated[str, Field(pattern="^[A-Za-z0-9._~-]{43,128}$")]
    nonce: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{22,128}$")]


class NewLink(_Body):
    """A link to make that opens the results of one campaign."""

    name: Title = "results link"
    expires: Annotated[datetime.date | None, Field(description="The last day on which it works.")] = None


class JsonReport(_Body):
    """One report as JSON: its id and its packed bytes, hexadecimal."""

    id: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    report: Annotated[str, Field(pattern="^([0-9a-f]{2})+$", max_length=2 * 65535)]


class JsonUpload(_Body):
    """An upload as JSON."""

    round: Annotated[int, Field(ge=1, le=1 << 31)]
    reports: Annotated[list[JsonReport], Field(min_length=1, max_length=10_000)]
