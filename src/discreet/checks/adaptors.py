"""Devices that `check_device` can speak to: this library's own, and any that runs as a process."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self

from discreet.device.ledger import Ledger
from discreet.device.rounds import VerifiedRound
from discreet.device.transaction import Transaction
from discreet.errors import DiscreetError
from discreet.messages.ids import ticket_id
from discreet.privacy.entropy import Entropy

ODD = ("nan", "infinity", "minus infinity", "missing", "large", "throws")
"""Names of values that JSON cannot write."""


@dataclass(frozen=True)
class Odd:
    """A value that JSON cannot write, by its name (`ODD`): every adaptor makes its own language's."""

    name: str


@dataclass(frozen=True)
class Verdict:
    """What a device says about the text of a round.

    Attributes
    ----------
    accepted : bool
        Whether it would answer.
    certificates : tuple of str
        The exact ratio of each channel's mechanism, "n/d", where it is accepted.
    error : str
        The name of the error with which it is refused.
    seconds : float
        Processor time that it took.
    """

    accepted: bool
    certificates: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Reply:
    """What a device does when it is asked to answer.

    Attributes
    ----------
    report : bytes or None
        The packed reports, filled with zeros to the round's width; None if nothing goes out.
    replaced : bool
        Whether the value could not be read, as the device tells its own app.
    error : str
        The name of the error, if nothing goes out.
    """

    report: bytes | None
    replaced: bool = False
    error: str = ""


class Device(Protocol):
    """What `check_device` needs of a device; adaptors are small."""

    def start(self, limit: float) -> None:
        """Begin again with a new person: an empty ledger with this limit."""
        ...

    def verify(self, text: str) -> Verdict:
        """Judge the text of a round; no error may leave this."""
        ...

    def answer(self, text: str, value: Any, report_id: bytes, key: bytes) -> Reply:
        """Answer a round: randomness comes from the key (32 bytes), if the device draws at all.

        ``report_id`` is what is uploaded: the report's id, or the ticket where the round asks for one.
        """
        ...

    def together(self, asked: Sequence[tuple[str, Any, bytes, bytes]]) -> list[Reply]:
        """Answer several rounds at the same time; the arguments of `answer` for each."""
        ...

    def charged(self) -> list[str]:
        """Return the exact ratio of every charge so far, "n/d"."""
        ...


class PythonDevice:
    """This library's own device, in this process."""

    def __init__(self) -> None:
        self._last: tuple[str, VerifiedRound] | None = None
        self.start(1000)

    def start(self, limit: float) -> None:
        """Begin again with a new person."""
        self._ledger = Ledger(limit=limit)

    def verify(self, text: str) -> Verdict:
        """Judge the text of a round."""
        start = time.process_time()
        self._last = None
        try:
            asked = self._read(text)
        except Exception as error:  # an error that is not documented is the harness's to tell
            return Verdict(False, error=type(error).__name__, seconds=time.process_time() - start)
        ratios = (channel.mechanism.certificate.ratio for channel in asked.channels)
        certificates = tuple(f"{ratio.numerator}/{ratio.denominator}" for ratio in ratios)
        return Verdict(True, certificates, seconds=time.process_time() - start)

    def answer(self, text: str, value: Any, report_id: bytes, key: bytes) -> Reply:
        """Answer a round."""
        try:
            asked = self._read(text)
            known = ticket_id(asked.campaign, report_id) if asked.admission == "invited" else report_id
            mine = Transaction(self._ledger, self._ledger.outbox, asked.campaign.hex(), "me")
            kept = mine.answer(asked, known, report_id, held(value), Entropy.from_key(key))
            return Reply(kept.report, kept.is_replaced)
        except Exception as error:  # an error that is not documented is the harness's to tell
            return Reply(None, error=type(error).__name__)

    def _read(self, text: str) -> VerifiedRound:
        """Return a round; the one that was read last is kept, because an answer usually follows a verdict."""
        if self._last is None or self._last[0] != text:
            self._last = (text, VerifiedRound.read(text))
        return self._last[1]

    def together(self, asked: Sequence[tuple[str, Any, bytes, bytes]]) -> list[Reply]:
        """Answer several rounds in threads."""
        with ThreadPoolExecutor(max(1, len(asked))) as pool:
            return list(pool.map(lambda one: self.answer(*one), asked))

    def charged(self) -> list[str]:
        """Return the exact ratio of every charge so far."""
        return [str(entry["ratio"]) for entry in self._ledger.account("me").entries]


class ProcessDevice:
    """A device in any language: a process that reads and writes lines of JSON.

    The lines are described in ``clients/javascript/check/driver.js``, the adaptor of the JavaScript client.

    Parameters
    ----------
    command : sequence of str
        Such as ``["node", "clients/javascript/check/driver.js"]``.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self._count = 0
        self._first: list[dict[str, Any]] = []
        self.kilobytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _ask(self, asked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send some lines at once, and return their answers in order."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        asked, self._first = [*self._first, *asked], []
        first = self._count
        self._count += len(asked)
        stdin.writelines(json.dumps({"n": first + i} | one) + "\n" for i, one in enumerate(asked))
        stdin.flush()
        found: dict[int, dict[str, Any]] = {}
        while len(found) < len(asked):
            line = stdout.readline()
            if not line:
                raise DiscreetError("the device's process ended")
            answer = json.loads(line)
            found[answer["n"]] = answer
        self.kilobytes = max(self.kilobytes, *(one["kilobytes"] for one in found.values()))
        return [found[first + i] for i in range(len(asked))]

    def start(self, limit: float) -> None:
        """Begin again with a new person."""
        self._first = [{"do": "start", "limit": limit}]  # goes with the next question

    def verify(self, text: str) -> Verdict:
        """Judge the text of a round."""
        one = self._ask([{"do": "verify", "text": text}])[-1]
        return Verdict(
            one.get("accepted", False), tuple(one.get("certificates", ())), one.get("error", ""), one["seconds"]
        )

    def answer(self, text: str, value: Any, report_id: bytes, key: bytes) -> Reply:
        """Answer a round."""
        return self.together([(text, value, report_id, key)])[0]

    def together(self, asked: Sequence[tuple[str, Any, bytes, bytes]]) -> list[Reply]:
        """Answer several rounds at the same time."""
        lines = [
            {"do": "answer", "text": text, "value": _spelled(value), "id": report_id.hex(), "key": key.hex()}
            for text, value, report_id, key in asked
        ]
        return [
            Reply(
                bytes.fromhex(one["report"]) if "report" in one else None,
                one.get("replaced", False),
                one.get("error", ""),
            )
            for one in self._ask(lines)[-len(lines) :]
        ]

    def charged(self) -> list[str]:
        """Return the exact ratio of every charge so far."""
        return list(self._ask([{"do": "charged"}])[-1].get("ratios", ()))


def _spelled(value: Any) -> Any:
    return {"odd": value.name} if isinstance(value, Odd) else value


class _Throws(list[Any]):
    """A row whose every use fails."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError("a value that fights back")

    __getitem__ = __len__ = __iter__ = __eq__ = __float__ = __array__ = __bool__ = __repr__ = _fail
    __hash__ = _fail  # type: ignore[assignment]


def held(value: Any) -> Any:
    """Return a value as Python holds it."""
    made: dict[str, Callable[[], Any]] = {
        "nan": lambda: float("nan"),
        "infinity": lambda: float("inf"),
        "minus infinity": lambda: float("-inf"),
        "missing": lambda: None,
        "large": lambda: 10**400,
        "throws": _Throws,
    }
    return made[value.name]() if isinstance(value, Odd) else value
