"""`discreet campaign`: start, watch and close a collector's campaigns, and take part in them."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.tables import show_table
from discreet.errors import DiscreetError
from discreet.text import thousands

if TYPE_CHECKING:
    from discreet.device.client import Collector

group = typer.Typer(
    help="Start, watch and close a collector's campaigns, and take part in them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Url = Annotated[str, typer.Option(help="The collector's address.", envvar="DISCREET_URL")]
Token = Annotated[str | None, typer.Option(help="Administrator's token.", envvar="DISCREET_TOKEN")]
Identifier = Annotated[str, typer.Argument(help="The campaign's id.")]
HERE = "http://127.0.0.1:8000"


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(
        group,
        name="campaign",
        epilog=examples(
            "discreet campaign start plan.json --title Commuting",
            "discreet campaign estimate ID",
            "discreet campaign list",
        ),
    )


def connect(url: str, token: str | None) -> "Collector":
    """Return the collector."""
    from discreet.device.client import Collector

    return Collector(url, token, attempts=4)


@group.command("start", epilog=examples("discreet campaign start plan.json --title Commuting --minimum 200"))
def start(
    plan: Annotated[Path, typer.Argument(help="Plan file (JSON), such as `discreet advise --plan` writes.")],
    title: Annotated[str, typer.Option(help="Title that people see.")],
    question: Annotated[str, typer.Option(help="The question in words.")] = "",
    opens: Annotated[str | None, typer.Option(help="First day, such as 2027-01-31.")] = None,
    closes: Annotated[str | None, typer.Option(help="Last day.")] = None,
    minimum: Annotated[int, typer.Option(min=1, help="Show no results below this many reports.")] = 100,
    people: Annotated[
        int | None, typer.Option(min=1, help="Expected people; each round closes when its share has answered.")
    ] = None,
    admission: Annotated[
        str,
        typer.Option(
            help="Who chooses the ids of reports: issued (the collector), invited (tickets) or open (the devices: "
            "unlinkable)."
        ),
    ] = "issued",
    url: Url = HERE,
    token: Token = None,
    as_json: Json = False,
    participants: Annotated[int | None, typer.Option("--participants", min=1, hidden=True)] = None,
) -> None:
    """Start a campaign; its first round opens at once."""
    try:
        values = json.loads(plan.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DiscreetError(f"{plan} is not valid JSON: {error}") from None
    fields: dict[str, Any] = {"question": question, "minimum": minimum, "admission": admission}
    expected = participants if people is None else people
    fields |= {k: v for k, v in (("opens", opens), ("closes", closes), ("people", expected)) if v is not None}
    with connect(url, token) as collector:
        made = collector.create(values, title, **fields)
        progress = made.progress()
        show(progress, url, as_json)
        if not as_json:
            for one in collector.post("/api/plan", {"plan": progress["plan"]}).get("warnings", []):
                console().print(f"[yellow]Note:[/yellow] {one}")
    if not as_json and (hint := second_round_hint(progress["plan"], expected)) is not None:
        console().print(f"[dim]{hint}[/dim]")


def second_round_hint(plan: dict[str, Any], people: int | None) -> str | None:
    """Return what a second round would have saved a mean that is asked in one, if that is worth a sentence.

    Examples
    --------
    >>> plan = {"question": "mean", "domain": {"low": 0, "high": 1}, "epsilon": 0.1, "method": "duchi"}
    >>> second_round_hint(plan, 1000) is None  # at such an epsilon there is nothing to gain
    True
    """
    from discreet.advice import second_round

    if plan.get("question") != "mean" or "prior" in plan or plan.get("method") in ("aaa", "np-aaa"):
        return None
    gain = second_round("mean", plan["epsilon"], people or 10_000)
    return str(gain) if gain is not None and gain.pays else None


@group.command("list", epilog=examples("discreet campaign list --json"))
def list_all(url: Url = HERE, token: Token = None, as_json: Json = False) -> None:
    """List all campaigns."""
    with connect(url, token) as collector:
        found = collector.campaigns()
    if as_json:
        show_json({"campaigns": found})
        return
    rows = [
        (one["id"], one["title"], one["state"], one["method"], f"{one['epsilon']:g}", thousands(one["n"]))
        for one in found
    ]
    show_table(console(), ("Id", "Title", "State", "Method", "ε", "Reports"), rows, ("ε", "Reports"), prose=("Title",))


@group.command("show", epilog=examples("discreet campaign show ID"))
def show_one(campaign: Identifier, url: Url = HERE, token: Token = None, as_json: Json = False) -> None:
    """Show the rounds and counts of a campaign."""
    with connect(url, token) as collector:
        show(collector.campaign(campaign).progress(), url, as_json)


@group.command("close", epilog=examples("discreet campaign close ID"))
def close(campaign: Identifier, url: Url = HERE, token: Token = None, as_json: Json = False) -> None:
    """Close the open round; the plan's next round opens, or the campaign is finished."""
    with connect(url, token) as collector:
        show(collector.campaign(campaign).close_round(), url, as_json)


@group.command("estimate", epilog=examples("discreet campaign estimate ID --json"))
def estimate(campaign: Identifier, url: Url = HERE, token: Token = None, as_json: Json = False) -> None:
    """Show the estimate, and a warning if no distribution explains the reports."""
    with connect(url, token) as collector:
        found = collector.campaign(campaign).estimate()
        fit = collector.campaign(campaign).fit()
    if as_json:
        show_json(found | {"fit": fit})
        return
    out = console()
    if found["withheld"]:
        out.print(found["reason"])
        return
    out.print_json(json.dumps(found["estimate"]))
    if fit.get("alarm"):
        out.print("[bold red]No distribution explains these reports: they may have been manipulated.[/bold red]")


@group.command("export", epilog=examples("discreet campaign export ID --format parquet > reports.parquet"))
def export(
    campaign: Identifier,
    form: Annotated[str, typer.Option("--format", help="csv, json (lines) or parquet.")] = "csv",
    url: Url = HERE,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Write all stored reports to standard output; --json means --format json."""
    with connect(url, token) as collector:
        sys.stdout.buffer.write(collector.campaign(campaign).export("json" if as_json else form))


@group.command("invite", epilog=examples("discreet campaign invite ID --count 20 --links"))
def invite(
    campaign: Identifier,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="How many tickets.")] = 1,
    links: Annotated[
        bool, typer.Option("--links", help="Print links to the answer page, with the hash of the open round.")
    ] = False,
    group: Annotated[
        str | None, typer.Option(help="Invite to this public group, if the campaign asks by group.")
    ] = None,
    url: Url = HERE,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Make one-time invitation tickets, or links with them; they are not shown again."""
    with connect(url, token) as collector:
        found = collector.campaign(campaign)
        link = link_to(url, found.progress())
        if link is None:
            raise DiscreetError("no round of the campaign is open, so nobody can be invited")
        tickets = found.invite(count, group)
    invited = [f"{link}&ticket={ticket}" for ticket in tickets]
    if as_json:
        show_json({"tickets": tickets, "links": invited})
    else:
        typer.echo("\n".join(invited if links else tickets))


@group.command("add-groups", epilog=examples("discreet campaign add-groups ID Maine Vermont --token TOKEN"))
def add_groups(
    campaign: Identifier,
    labels: Annotated[list[str], typer.Argument(help="The groups to add.")],
    url: Url = HERE,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Add public groups to a campaign that asks by group, while a round is open.

    Reports so far keep their group. The question changes, so people need the new link, which is printed.
    """
    with connect(url, token) as collector:
        found = collector.campaign(campaign).add_groups(labels)
    link = link_to(url, found)
    if as_json:
        show_json({"groups": found["groups"], "link": link})
    else:
        typer.echo(link)


@group.command(
    "answer",
    epilog=examples(
        "discreet campaign answer ID 42 --ledger ledger.jsonl --limit 2",
        "discreet campaign answer 'https://collector.example/c/ID#round=1-HASH' 42",
    ),
)
def answer(
    campaign: Annotated[str, typer.Argument(help="The campaign's id, or the link you were sent.")],
    value: Annotated[
        str,
        typer.Argument(
            help="A number, a label, a JSON list of numbers, or a JSON object of answers; it stays on this machine."
        ),
    ],
    ledger: Annotated[Path, typer.Option(help="Your ledger; a new one needs --limit.")] = Path("ledger.jsonl"),
    limit: Annotated[float | None, typer.Option(help="The most ε you will spend over all campaigns.")] = None,
    ticket: Annotated[str | None, typer.Option(help="Your invitation ticket, if the campaign needs one.")] = None,
    public_group: Annotated[
        str | None, typer.Option("--group", help="Your group, if the campaign asks by group. It is sent as it is.")
    ] = None,
    url: Url = HERE,
    as_json: Json = False,
) -> None:
    """Take part: verify the campaign, charge your ledger, send one randomised report.

    With a link, the round is compared with the link's hash, and another round is refused.
    """
    from discreet.device.ledger import Ledger
    from discreet.privacy.ledger import written

    try:
        given = json.loads(value)
    except ValueError:
        given = value
    link = read_link(campaign)
    kept = Ledger(ledger, limit)
    with connect(link.url or url, None) as collector:
        receipt = collector.campaign(link.campaign).answer(
            given, kept, group=public_group, ticket=ticket or link.ticket, pin=link.pin
        )
    facts: dict[str, Any] = {"round": receipt.round, "statuses": dict(receipt.statuses)}
    facts |= {"spent": written(kept.spent("me")), "is_replaced": bool(receipt.replaced)}
    if as_json:
        show_json(facts)
    else:
        typer.echo(f"{', '.join(receipt.statuses)}; epsilon spent in all: {float(kept.spent('me')):g}")
        if receipt.replaced:
            typer.echo("The value does not fit the question, so a constant was answered; the collector cannot see it.")


class Link(NamedTuple):
    """What a link to an answer page says."""

    campaign: str
    url: str | None = None
    pin: str | None = None
    ticket: str | None = None


def read_link(text: str) -> Link:
    """Read a link; a text that is none is a campaign's id.

    Examples
    --------
    >>> read_link("https://collector.example/c/0a#round=1-ff&ticket=b2")
    Link(campaign='0a', url='https://collector.example', pin='1-ff', ticket='b2')
    """
    if "://" not in text:
        return Link(text)
    parts = urlsplit(text)
    said = dict(parse_qsl(parts.fragment))
    campaign = parts.path.removeprefix("/c/")
    return Link(campaign, f"{parts.scheme}://{parts.netloc}", said.get("round"), said.get("ticket"))


def link_to(url: str, progress: dict[str, Any]) -> str | None:
    """Return the link for people, with the hash of the open round after the #; none if no round is open."""
    return f"{url.rstrip('/')}{progress['link']}" if progress.get("link") else None


def show(progress: dict[str, Any], url: str, as_json: bool) -> None:
    """Print a campaign's progress, and the links that people and you open."""
    link, dashboard = link_to(url, progress), f"{url.rstrip('/')}/campaigns/{progress['id']}"
    if as_json:
        show_json(progress | {"link": link, "dashboard": dashboard})
        return
    out = console()
    out.print(f"[bold cyan]{progress['id']}[/bold cyan]  {progress['title']}  [dim]{progress['state']}[/dim]")
    out.print(f"  {progress['plan']['question']} by {progress['method']}, ε = {progress['epsilon']:g}")
    for one in progress["rounds"]:
        target = f" of {thousands(one['target'])}" if one["target"] else ""
        out.print(f"  round {one['round']}: {thousands(one['n'])}{target} reports, {one['state']}")
    if link is not None:
        out.print(f"  people answer at {link}", soft_wrap=True)
    out.print(f"  you watch it at {dashboard}", soft_wrap=True)
