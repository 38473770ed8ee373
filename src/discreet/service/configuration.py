"""Configuration of a collector: options of the command line before the environment before a file before the defaults.

Every setting has one name: ``max_body`` in the file (TOML), ``DISCREET_MAX_BODY`` in the environment. The database and
the secret of a provider may be in files of their own, where a container mounts its secrets; ``DISCREET_DATABASE_FILE``
names one.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.service.settings import Settings
from discreet.text import listed

PREFIX = "DISCREET_"
_SECRETS = ("database", "oidc_client_secret")
"""Settings that may be in a file of their own, which ``DISCREET_DATABASE_FILE`` or the like names."""


@dataclass(frozen=True)
class Configuration:
    """Where a collector stores and listens, and its settings.

    Attributes
    ----------
    database : str
        A file (SQLite) or a postgresql:// address.
    host, port : str, int
        Where it listens.
    workers : int
        Number of processes; they share the database.
    log_format : str
        ``text`` for people or ``json`` for programs, one object per line.
    settings : Settings
        Limits.
    """

    database: str = "collector.db"
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    log_format: str = "text"
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        _between("port", self.port, 1, 65535)
        _between("workers", self.workers, 1, 64)
        if self.log_format not in ("text", "json"):
            raise DiscreetError(f"log_format must be text or json, not {self.log_format!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return all values by their names, ready for JSON."""
        found = asdict(self)
        settings: dict[str, Any] = found.pop("settings")
        del settings["today"]
        return found | settings


def _between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise DiscreetError(f"{name} must be between {low} and {high}, not {value}")


def _kinds() -> dict[str, type]:
    names = {"int": int, "float": float, "str": str, "bool": bool}
    found = {}
    for one in (*fields(Configuration), *fields(Settings)):
        kind = one.type if isinstance(one.type, str) else getattr(one.type, "__name__", "")
        if kind in names:
            found[one.name] = names[kind]
    return found


def read_configuration(
    file: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Configuration:
    """Return a collector's configuration.

    Parameters
    ----------
    file : path, optional
        A TOML file; the environment may name it as ``DISCREET_CONFIG``.
    environment : mapping, optional
        Variables that begin with ``DISCREET_``.
    given : mapping, optional
        What overrides both; values that are None are left out.

    Examples
    --------
    >>> read_configuration(environment={"DISCREET_PORT": "9000", "DISCREET_MAX_BODY": "1000"}).port
    9000
    >>> read_configuration(environment={"DISCREET_PORT": "9000"}, given={"port": 9001}).port
    9001
    """
    environment, kinds = environment or {}, _kinds()
    file = file or environment.get(f"{PREFIX}CONFIG") or None
    found = {} if file is None else _from_file(Path(file), kinds)
    found |= _from_json(environment.get(f"{PREFIX}SETTINGS"), kinds)
    for name in _SECRETS:
        secret = environment.get(f"{PREFIX}{name.upper()}_FILE")
        if secret:
            found[name] = _text_of(Path(secret)).strip()
    for name, kind in kinds.items():
        text = environment.get(f"{PREFIX}{name.upper()}", "")
        if text:
            found[name] = _read(f"{PREFIX}{name.upper()}", text, kind)
    found |= {name: value for name, value in (given or {}).items() if value is not None}
    own = {one.name for one in fields(Configuration)} - {"settings"}
    settings = Settings(**{name: value for name, value in found.items() if name not in own})
    return Configuration(**{name: value for name, value in found.items() if name in own}, settings=settings)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DiscreetError(f"{path} cannot be read: {error.strerror}") from None


def _from_file(path: Path, kinds: dict[str, type]) -> dict[str, Any]:
    try:
        values = tomllib.loads(_text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise DiscreetError(f"{path} is not valid TOML: {error}") from None
    return _checked(str(path), values, kinds)


def _from_json(text: str | None, kinds: dict[str, type]) -> dict[str, Any]:
    """Read several settings from one variable, as version 0.1 did."""
    try:
        values = json.loads(text or "{}")
    except ValueError as error:
        raise DiscreetError(f"{PREFIX}SETTINGS is not valid JSON: {error}") from None
    return _checked(f"{PREFIX}SETTINGS", values, kinds)


def _checked(source: str, values: dict[str, Any], kinds: dict[str, type]) -> dict[str, Any]:
    found = {}
    for name, value in values.items():
        if name not in kinds:
            raise DiscreetError(f"{source} may contain {listed(sorted(kinds))}, not {name!r}")
        whole = isinstance(value, int) and not isinstance(value, bool)
        fits = isinstance(value, kinds[name]) and (kinds[name] is not int or whole)
        if not fits and not (kinds[name] is float and whole):
            raise DiscreetError(f"{source}: {name} must be a {_NAMES[kinds[name]]}, not {value!r}")
        found[name] = kinds[name](value)
    return found


_NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def _read(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise DiscreetError(f"{name} must be true or false, not {text!r}")
        return text.lower() in ("true", "1")
    try:
        return kind(text)
    except ValueError:
        raise DiscreetError(f"{name} must be a {_NAMES[kind]}, not {text!r}") from None
