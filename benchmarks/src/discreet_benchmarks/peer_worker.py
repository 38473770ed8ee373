"""The peers' side of a benchmark: run by the interpreter of *their* environment, which knows nothing of discreet.

One JSON request a line on stdin, one JSON answer a line on stdout. The peers take one value, or one report, at a call:
that is what is timed, as a loop over a list, in thread time, with the reports made before the clock runs. The cost of a
server is its marginal one, the time of many reports less that of few: what an estimate costs once is not counted.

    {"do": "list"}                                                -> {"peers": {mechanism: [peer, …]}, "missing": {…}}
    {"do": "client", "peer": …, "size": …, "epsilon": …, "budget": …}  -> {"seconds": …, "reports": …}
    {"do": "server", …}                                           -> {"seconds": …, "reports": …}
    {"do": "law", …, "reports": …}                                -> {"p": …, "q": …, "reports": …}
    {"do": "errors", …, "people": [how many hold each value]}     -> {"errors": {kind of estimate: mean squared error}}
"""

import importlib
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"
SKETCH = (64, 1024)
"""Hash functions and width of the count-mean sketch that is compared."""


class Peer:
    """One oracle of one package: what its users call."""

    def __init__(self, size: int, epsilon: float) -> None:
        self.size, self.epsilon = size, epsilon
        self.pool: list[Any] = []
        self.times = 4  # how often the pool is counted in one repeat of the server: grows until it takes its time

    def privatize(self, value: int) -> Any:
        """Return one report."""
        raise NotImplementedError

    def collect(self, reports: list[Any]) -> Any:
        """Count the reports; what it returns is for `estimates`."""
        raise NotImplementedError

    def supports(self, report: Any, value: int) -> bool:
        """Whether a report supports a value."""
        raise NotImplementedError

    def estimates(self, collected: Any) -> dict[str, Any]:
        """Return the frequencies that the package offers, by kind."""
        raise NotImplementedError

    def keep(self, report: Any) -> Any:
        """Return a report that can be counted more than once."""
        return report


def _pure(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"pure_ldp.frequency_oracles.{module}"), name)


class Pure(Peer):
    """An oracle of pure-ldp: a client object and a server object; values start at 1."""

    def __init__(
        self,
        size: int,
        epsilon: float,
        module: str,
        name: str,
        supports: Callable[[Any, Any, int], bool],
        **options: Any,
    ) -> None:
        super().__init__(size, epsilon)
        self.supported = supports
        self.server: Any = self.make_server(module, name, options)
        self.client: Any = self.make_client(module, name, options)

    def make_server(self, module: str, name: str, options: dict[str, Any]) -> Any:
        return _pure(module, f"{name}Server")(self.epsilon, self.size, **options)

    def make_client(self, module: str, name: str, options: dict[str, Any]) -> Any:
        return _pure(module, f"{name}Client")(self.epsilon, self.size, **options)

    def privatize(self, value: int) -> Any:
        return self.client.privatise(value + 1)

    def collect(self, reports: list[Any]) -> Any:
        self.server.reset()
        for report in reports:
            self.server.aggregate(report)
        return self.server

    def supports(self, report: Any, value: int) -> bool:
        return self.supported(self, report, value)

    def estimates(self, collected: Any) -> dict[str, Any]:
        every = range(1, self.size + 1)
        return {
            "raw": np.array(collected.estimate_all(every, suppress_warnings=True)) / collected.n,
            "simplex": np.array(collected.estimate_all(every, suppress_warnings=True, normalization=2)) / collected.n,
        }


class PureHadamard(Pure):
    """Hadamard response keeps a list of reports and counts them when it estimates: both are counting."""

    def make_client(self, module: str, name: str, options: dict[str, Any]) -> Any:
        return _pure(module, f"{name}Client")(self.epsilon, self.size, self.server.get_hash_funcs())

    def collect(self, reports: list[Any]) -> Any:
        super().collect(reports)
        self.server.check_and_update_estimates()
        return self.server


class PureHadamardBit(Pure):
    """The Hadamard mechanism with one coefficient a report: Hadamard randomized response."""

    def keep(self, report: Any) -> Any:
        return list(report)  # a lie comes as an iterator, which could be counted once only


class PureSketch(Pure):
    """Apple's count-mean sketch."""

    def make_server(self, module: str, name: str, options: dict[str, Any]) -> Any:
        return _pure(module, "CMSServer")(self.epsilon, *SKETCH)

    def make_client(self, module: str, name: str, options: dict[str, Any]) -> Any:
        return _pure(module, "CMSClient")(self.epsilon, self.server.get_hash_funcs(), SKETCH[1])


class Multi(Peer):
    """An oracle of multi-freq-ldpy: two functions; its estimates are clipped and renormalised, or found by EM."""

    def __init__(
        self, size: int, epsilon: float, module: str, name: str, supports: Callable[[Any, Any, int], bool], *extra: Any
    ) -> None:
        super().__init__(size, epsilon)
        room = importlib.import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}")
        self.make, self.extra, self.supported = getattr(room, f"{name}_Client"), extra, supports
        self.inverted, self.iterated = getattr(room, f"{name}_Aggregator_MI"), getattr(room, f"{name}_Aggregator_IBU")
        self.sized = () if module == "UE" else (size,)

    def privatize(self, value: int) -> Any:
        return self.make(value, self.size, self.epsilon, *self.extra)

    def collect(self, reports: list[Any]) -> Any:
        return reports, self.inverted(reports, *self.sized, self.epsilon, *self.extra)

    def supports(self, report: Any, value: int) -> bool:
        return self.supported(self, report, value)

    def estimates(self, collected: Any) -> dict[str, Any]:
        reports, inverted = collected
        return {"clipped": inverted, "EM": self.iterated(reports, self.size, self.epsilon, *self.extra)}


def _equal(_: Any, report: Any, value: int) -> bool:
    return int(report) == value


def _bit(_: Any, report: Any, value: int) -> bool:
    return bool(report[value])


def _among(_: Any, report: Any, value: int) -> bool:
    return value in report


def _hashed(peer: Any, report: Any, value: int) -> bool:
    xxh32 = importlib.import_module("xxhash").xxh32
    buckets = round(math.exp(peer.epsilon)) + 1
    return bool(report[0] == xxh32(str(value), seed=report[1]).intdigest() % buckets)


def _hadamard(peer: Any, report: Any, value: int) -> bool:
    return bin((value + 1) & int(report)).count("1") % 2 == 0  # its high-privacy version: epsilon up to 1


def _coefficient(peer: Any, report: Any, value: int) -> bool:
    ((row, sign),) = report
    return bool((1 if bin(row & value).count("1") % 2 == 0 else -1) == sign)


def _sketched(peer: Any, report: Any, value: int) -> bool:
    bits, function = report
    return bool(bits[peer.server.hash_funcs[function](str(value + 1))] > 0)


Maker = Callable[[int, float], Peer]
MAKERS: dict[str, dict[str, Maker]] = {
    "randomized-response": {
        f"{PURE} DE": lambda d, e: Pure(d, e, "direct_encoding", "DE", _equal),
        f"{MULTI} GRR": lambda d, e: Multi(d, e, "GRR", "GRR", _equal),
    },
    "basic-rappor": {
        f"{PURE} SUE": lambda d, e: Pure(d, e, "unary_encoding", "UE", _bit),
        f"{MULTI} SUE": lambda d, e: Multi(d, e, "UE", "UE", _bit, False),
    },
    "optimized-unary": {
        f"{PURE} OUE": lambda d, e: Pure(d, e, "unary_encoding", "UE", _bit, use_oue=True),
        f"{MULTI} OUE": lambda d, e: Multi(d, e, "UE", "UE", _bit, True),
    },
    "local-hashing": {
        f"{PURE} OLH": lambda d, e: Pure(d, e, "local_hashing", "LH", _hashed, use_olh=True),
        f"{MULTI} OLH": lambda d, e: Multi(d, e, "LH", "LH", _hashed, True),
    },
    "subset-selection": {f"{MULTI} SS": lambda d, e: Multi(d, e, "SS", "SS", _among)},
    "hadamard-response": {
        f"{PURE} HR": lambda d, e: PureHadamard(d, e, "hadamard_response", "HadamardResponse", _hadamard)
    },
    "hadamard-randomized-response": {
        f"{PURE} HM": lambda d, e: PureHadamardBit(d, e, "hadamard_mechanism", "HadamardMech", _coefficient, t=1)
    },
    "count-mean-sketch": {f"{PURE} CMS": lambda d, e: PureSketch(d, e, "apple_cms", "CMS", _sketched)},
}
"""The peers' oracles by the name of ours that has the same law."""

_made: dict[tuple[str, int, float], Peer] = {}


def peer_of(name: str, size: int, epsilon: float) -> Peer:
    """Return a peer, made and warmed up once."""
    key = name, size, epsilon
    if key not in _made:
        maker = next(makers[name] for makers in MAKERS.values() if name in makers)
        made = maker(size, epsilon)
        made.pool = [made.keep(made.privatize(value % size)) for value in range(50)]
        made.collect(made.pool[:2])
        _made[key] = made
    return _made[key]


def seconds(action: Callable[[], Any]) -> float:
    """Return the thread time of an action."""
    before = time.thread_time()
    action()
    return time.thread_time() - before


def client(peer: Peer, budget: float) -> dict[str, Any]:
    """Time a loop of privatisations that takes about ``budget`` seconds."""
    values = [i % peer.size for i in range(20)]
    each = seconds(lambda: [peer.privatize(value) for value in values]) / len(values)
    count = int(min(20_000, max(20, budget / each)))
    values = [i * 7919 % peer.size for i in range(count)]
    return {"seconds": seconds(lambda: [peer.privatize(value) for value in values]) / count, "reports": count}


def server(peer: Peer, budget: float) -> dict[str, Any]:
    """Time the counting of reports: of many, less that of a tenth of them."""
    while True:
        many = peer.pool * peer.times
        tenth = many[: len(many) // 10]
        spent = seconds(partial(peer.collect, many)) - seconds(partial(peer.collect, tenth))
        if spent > budget / 2 or peer.times >= 4096:
            return {"seconds": max(0.0, spent) / (len(many) - len(tenth)), "reports": len(many)}
        peer.times *= 4


def law(peer: Peer, reports: int) -> dict[str, Any]:
    """Measure how often a report supports the true value, and another."""
    value, other = peer.size // 2, peer.size // 3
    made = [peer.keep(peer.privatize(value)) for _ in range(reports)]
    p, q = (sum(peer.supports(report, v) for report in made) / reports for v in (value, other))
    return {"p": p, "q": q, "reports": reports}


def errors(peer: Peer, people: list[int]) -> dict[str, Any]:
    """Let everyone answer once; return the mean squared error of each kind of estimate."""
    truth = np.array(people) / sum(people)
    reports = [peer.keep(peer.privatize(value)) for value, held in enumerate(people) for _ in range(held)]
    found = peer.estimates(peer.collect(reports))
    return {"errors": {kind: float(np.mean((np.asarray(f) - truth) ** 2)) for kind, f in found.items()}}


def listed() -> dict[str, Any]:
    """Return the peers that work here, and why others do not."""
    peers: dict[str, list[str]] = {}
    missing = {}
    for mechanism, makers in MAKERS.items():
        peers[mechanism] = []
        for name in makers:
            try:
                peer_of(name, 16, 1.0)
                peers[mechanism].append(name)
            except Exception as error:
                missing[name] = f"{type(error).__name__}: {error}"
    return {"peers": peers, "missing": missing}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    if request["do"] == "list":
        return listed()
    peer = peer_of(request["peer"], request["size"], request["epsilon"])
    if request["do"] == "client":
        return client(peer, request["budget"])
    if request["do"] == "server":
        return server(peer, request["budget"])
    if request["do"] == "law":
        return law(peer, request["reports"])
    if request["do"] == "errors":
        return errors(peer, request["people"])
    raise ValueError(f"do must be list, client, server, law or errors, not {request['do']!r}")


def main() -> None:
    """Answer until stdin ends."""
    warnings.filterwarnings("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a peer prints must not come between the answers
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
