"""Configuration: options before the environment before a file before the defaults, and errors that name the source."""

import io
import json
import logging
import sys

import pytest

from discreet.errors import DiscreetError
from discreet.service.configuration import Configuration, read_configuration
from discreet.service.serving import JsonLines, log_config, open_store
from discreet.service.settings import Settings


def test_options_come_before_the_environment_before_the_file(tmp_path):
    file = tmp_path / "collector.toml"
    file.write_text('database = "file.db"\nport = 1\nmax_body = 10\nbody_seconds = 3\nbehind_proxy = 2\n')
    environment = {"DISCREET_CONFIG": str(file), "DISCREET_PORT": "2", "DISCREET_MAX_BODY": "20", "DISCREET_TOKEN": "x"}
    found = read_configuration(None, environment, {"port": 3, "host": None})
    assert (found.database, found.port, found.host) == ("file.db", 3, "127.0.0.1")
    assert found.settings == Settings(max_body=20, body_seconds=3.0, behind_proxy=2)
    assert read_configuration(given=found.to_dict()) == found  # what workers are told
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert read_configuration() == Configuration()


def test_the_database_can_be_a_secret_of_its_own(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("postgresql://me:password@host/reports\n")
    found = read_configuration(environment={"DISCREET_DATABASE_FILE": str(secret)})
    assert found.database == "postgresql://me:password@host/reports"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "may contain .*max_body.*, not 'prot'"),
        ('port = "1"', "port must be a whole number, not '1'"),
        ("port = true", "port must be a whole number"),
        ("port = 0", "port must be between 1 and 65535"),
        ("today = 1", "not 'today'"),
        ("port =", "not valid TOML"),
        ('log_format = "xml"', "log_format must be text or json"),
    ],
)
def test_a_wrong_file_is_refused_in_words(tmp_path, text, said):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(DiscreetError, match=said):
        read_configuration(tmp_path / "c.toml")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "x", "DISCREET_PORT must be a whole number, not 'x'"),
        ("BODY_SECONDS", "x", "DISCREET_BODY_SECONDS must be a number"),
        ("CONFIG", "/nowhere/c.toml", "cannot be read"),
        ("SETTINGS", "{", "DISCREET_SETTINGS is not valid JSON"),
        ("SETTINGS", '{"x": 1}', "DISCREET_SETTINGS may contain"),
    ],
)
def test_a_wrong_environment_is_refused_in_words(name, value, said):
    with pytest.raises(DiscreetError, match=said):
        read_configuration(environment={f"DISCREET_{name}": value})


def test_settings_in_one_variable_still_work():
    assert read_configuration(environment={"DISCREET_SETTINGS": '{"max_body": 5}'}).settings.max_body == 5


def test_the_limits_of_the_database_come_from_the_configuration(database):
    """Fault 8 had them in the code: statements, locks, connections and the pool are settings like all others."""
    names = ("LOCK_SECONDS", "POOL_SECONDS", "STATEMENT_SECONDS", "CONNECT_SECONDS", "POOL_SIZE")
    environment = {f"DISCREET_{name}": str(3 + i) for i, name in enumerate(names)}
    with open_store(read_configuration(environment=environment, given={"database": database})) as store:
        pool = store.engine.pool
        assert (pool.size() + pool._max_overflow, pool._timeout) == (7, 4.0)
        with store.read() as connection:
            if store.backend == "sqlite":
                assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 3000
                return
            shown = [connection.exec_driver_sql(f"SHOW {name}_timeout").scalar_one() for name in ("lock", "statement")]
            assert shown == ["3s", "5s"]
            assert connection.connection.dbapi_connection.info.get_parameters()["connect_timeout"] == "6"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("statement_seconds", 0.0, "statement_seconds must be between 0.1 and 3600, not 0"),
        ("pool_size", -1, "pool_size must be between 0 and 1000, not -1"),
    ],
)
def test_a_limit_that_would_wait_for_ever_is_refused(name, value, said):
    with pytest.raises(DiscreetError, match=said):
        Settings(**{name: value})


def test_logs_can_be_read_by_programs():
    out, log = io.StringIO(), logging.Logger("discreet.service")
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonLines())
    log.addHandler(handler)
    log.warning("round of %s stays open", "ab")
    try:
        raise ValueError("x")
    except ValueError:
        log.error("failed", exc_info=sys.exc_info())
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["level"], first["message"]) == ("warning", "round of ab stays open")
    assert "ValueError" in second["exception"]
    assert "uvicorn.access" not in log_config("json")["loggers"]
