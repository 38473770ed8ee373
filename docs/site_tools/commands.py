"""The page about the command line, written from the verbs' own help: options, defaults and examples as they are."""

from typing import Any

import typer

from discreet.cli import app


def command_page() -> str:
    """Return the page as Markdown."""
    root = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        "Every verb of `discreet`, as `discreet VERB --help` describes it. All of them take `--json`, which prints one "
        "JSON object and nothing else.",
        "",
    ]
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        if not command.hidden:
            lines += _section(f"discreet {name}", command, 2)
    return "\n".join(lines)


def _section(path: str, command: Any, depth: int) -> list[str]:
    lines = [f"{'#' * depth} {path}", "", _paragraphs(command.help or ""), ""]
    if hasattr(command, "commands"):
        lines += _examples(command)
        for name, below in command.commands.items():
            if not below.hidden:
                lines += _section(f"{path} {name}", below, depth + 1)
        return lines
    given = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not getattr(one, "hidden", False)]
    words = [f"{(one.metavar or one.name).upper()}{'…' if one.nargs == -1 else ''}" for one in given]
    lines += ["```text", " ".join([path, *words, "[OPTIONS]"]), "```", ""]
    if given or options:
        lines += ["| option | what it does |", "|---|---|"]
        lines += [f"| `{word}` | {_cell(one.help)} |" for word, one in zip(words, given, strict=True)]
        lines += [f"| {_names(one)} | {_cell(one.help)}{_default(one)} |" for one in options]
        lines.append("")
    return lines + _examples(command)


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _names(one: Any) -> str:
    names = ", ".join(f"`{name}`" for name in one.opts)
    if one.is_flag:
        return names
    return f"{names} {one.metavar or one.name.strip('_').upper()}".replace("|", "\\|")


def _default(one: Any) -> str:
    if one.required:
        return " *Required.*"
    if one.is_flag or one.default in (None, "", ()) or callable(one.default):
        return ""
    return f" Default: `{one.default}`."


def _examples(command: Any) -> list[str]:
    shown = [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("discreet ")]
    return ["```text", *shown, "```", ""] if shown else []
