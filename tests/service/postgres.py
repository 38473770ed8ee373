"""A real PostgreSQL on loopback for the tests, from whatever packages are installed; never as root."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

HOW = "PostgreSQL is not installed: run `make system` (Debian: apt-get install postgresql)"


def programs() -> Path | None:
    """Return the directory of initdb and postgres."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def _owner() -> pwd.struct_passwd | None:
    """Whom to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is no other user")


class Postgres:
    """A server of one's own, with a database for each test."""

    def __init__(self) -> None:
        place = programs()
        if place is None:
            raise FileNotFoundError(HOW)
        self.directory = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
        owner = _owner()
        self._as = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        if owner is not None:
            os.chown(self.directory, owner.pw_uid, owner.pw_gid)
        data = self.directory / "data"
        quiet = {"cwd": self.directory, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        subprocess.run(
            [place / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
            check=True, **quiet, **self._as,
        )  # fmt: skip
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.command = [
            place / "postgres", "-D", data, "-k", self.directory, "-p", str(self.port),
            "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=100",
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._as
        )
        for _ in range(200):
            try:
                with psycopg.connect(self._url("postgres"), connect_timeout=5):
                    return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise TimeoutError("PostgreSQL did not start")

    def stop(self, how: int = signal.SIGINT) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=300)  # its last checkpoint may take long on a busy disk
            self.process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _url(self, database: str) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Return the URL of an empty database."""
        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url(name)
