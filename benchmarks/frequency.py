# ruff: noqa: E402 - threads must be set before numpy is loaded
"""Speed of the frequency oracles, in one run: python benchmarks/frequency.py [--quick] [--json FILE] [--peers PYTHON].

One core, 1024 categories, epsilon 1 unless told otherwise. Times are the thread's CPU time, the least of several
repetitions, so that a busy machine disturbs them little. Beside each client stands its floor, the cost of the keystream
words that it draws. ``--peers`` takes the interpreter of an environment that has pure-ldp and multi-freq-ldpy (they
need ``numpy<2 xxhash<4``) and measures them in the same run, on fewer reports.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.mechanisms import mechanism
from discreet.privacy.entropy import Entropy

# name: reports measured
ORACLES = {
    "randomized-response": 1_000_000,
    "subset-selection": 50_000,
    "basic-rappor": 50_000,
    "optimized-unary": 50_000,
    "local-hashing": 200_000,
    "hadamard-response": 1_000_000,
    "hadamard-randomized-response": 1_000_000,
    "projective-geometry": 1_000_000,
}
PEER_OF = {
    "randomized-response": ("pure-ldp direct encoding", "multi-freq-ldpy GRR"),
    "subset-selection": ("multi-freq-ldpy SS",),
    "optimized-unary": ("pure-ldp OUE", "multi-freq-ldpy OUE"),
    "local-hashing": ("pure-ldp OLH", "multi-freq-ldpy OLH"),
    "hadamard-response": ("pure-ldp Hadamard response",),
}
PEERS = """
import importlib, json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
size, epsilon = int(sys.argv[1]), float(sys.argv[2])
x = np.random.default_rng(0).integers(0, size, 2000)
results = {}

def seconds(action):
    before = time.thread_time()
    result = action()
    return time.thread_time() - before, result

def record(name, count, client, server):
    try:
        client(int(x[0]))
        spent, reports = seconds(lambda: [client(int(v)) for v in x[:count]])
        results[name] = {"client_ns": spent / count * 1e9}
        server(reports[:2])
        results[name]["server_ns"] = seconds(lambda: server(reports))[0] / count * 1e9
    except Exception as error:
        results.setdefault(name, {})["error"] = f"{type(error).__name__}: {error}"

def pure(name, count, module, client, server, **options):
    try:
        rooms = importlib.import_module("pure_ldp.frequency_oracles." + module)
        make = getattr(rooms, client)(epsilon, size, **options)
        collect = getattr(rooms, server)(epsilon, size, **options)
        record(name, count, lambda v: make.privatise(v + 1), lambda rs: [collect.aggregate(r) for r in rs])
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}

def multi(name, count, module, client, server, *extra):
    try:
        room = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles." + module)
        privatize, estimate = getattr(room, client), getattr(room, server)
        asked = (epsilon, *extra) if module == "UE" else (size, epsilon, *extra)
        record(name, count, lambda v: privatize(v, size, epsilon, *extra), lambda rs: estimate(rs, *asked))
    except Exception as error:
        results[name] = {"error": f"{type(error).__name__}: {error}"}

pure("pure-ldp direct encoding", 2000, "direct_encoding", "DEClient", "DEServer")
pure("pure-ldp OUE", 500, "unary_encoding", "UEClient", "UEServer", use_oue=True)
pure("pure-ldp OLH", 100, "local_hashing", "LHClient", "LHServer", use_olh=True)
multi("multi-freq-ldpy GRR", 2000, "GRR", "GRR_Client", "GRR_Aggregator_MI")
multi("multi-freq-ldpy SS", 500, "SS", "SS_Client", "SS_Aggregator_MI")
multi("multi-freq-ldpy OUE", 500, "UE", "UE_Client", "UE_Aggregator_MI", True)
multi("multi-freq-ldpy OLH", 500, "LH", "LH_Client", "LH_Aggregator_MI", True)
try:
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    collector = HadamardResponseServer(epsilon, size)
    sender = HadamardResponseClient(epsilon, size, collector.get_hash_funcs())
    record("pure-ldp Hadamard response", 2000, lambda v: sender.privatise(v + 1),
           lambda rs: [collector.aggregate(r) for r in rs])
except Exception as error:
    results["pure-ldp Hadamard response"] = {"error": f"{type(error).__name__}: {error}"}
print(json.dumps(results))
"""


def least_seconds(action: Callable[[], Any], repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        before = time.thread_time()
        action()
        times.append(time.thread_time() - before)
    return min(times)


def keystream_ns(repetitions: int) -> float:
    """CPU time of one 64-bit word of the cryptographic keystream."""
    entropy = Entropy()

    def draw() -> None:
        for _ in range(16):
            entropy.words(1 << 16)  # as many at a time as a client draws

    return least_seconds(draw, 5 * repetitions) / (1 << 20) * 1e9


def measure(name: str, count: int, size: int, epsilon: float, repetitions: int) -> dict[str, float]:
    m = mechanism(name, epsilon, size=size)
    values = np.random.default_rng(0).integers(0, size, count).astype(np.uint32)
    reports = m.privatize(values[:1000])
    m.support_counts(m.tally(reports))
    client = least_seconds(lambda: m.privatize(values), repetitions)
    reports = m.privatize(values)
    if reports.ndim == 2:
        reports = np.tile(reports, (4, 1))
    server = least_seconds(lambda: m.tally(reports), repetitions)
    tally = m.tally(reports)
    return {
        "client_ns": client / count * 1e9,
        "words": m.words_per_report,
        "server_ns": server / len(reports) * 1e9,
        "decode_ms": least_seconds(lambda: m.support_counts(tally), repetitions) * 1e3,
        "bytes": m.report_bytes,
        "mean_variance": m.mean_variance,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the frequency oracles.")
    parser.add_argument("--quick", action="store_true", help="fewer reports and repetitions")
    parser.add_argument("--json", type=Path, help="write the numbers to a file")
    parser.add_argument("--peers", help="interpreter of an environment with pure-ldp and multi-freq-ldpy")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    repetitions, share = (2, 10) if options.quick else (5, 1)
    word = keystream_ns(repetitions)
    print(f"{options.size} categories, epsilon {options.epsilon:g}; keystream {word:.2f} ns a word")
    print(f"{'oracle':30} {'client':>10} {'floor':>9} {'server':>9} {'decode':>9} {'M/s':>8} {'M/s':>8} {'bytes':>6}")
    print(f"{'':30} {'ns':>10} {'ns':>9} {'ns':>9} {'ms':>9} {'client':>8} {'server':>8}")
    results: dict[str, Any] = {"keystream_ns": word, "oracles": {}, "peers": {}}
    for name, count in ORACLES.items():
        r = results["oracles"][name] = measure(name, count // share, options.size, options.epsilon, repetitions)
        print(
            f"{name:30} {r['client_ns']:10.1f} {r['words'] * word:9.1f} {r['server_ns']:9.2f} {r['decode_ms']:9.3f} "
            f"{1e3 / r['client_ns']:8.1f} {1e3 / r['server_ns']:8.1f} {r['bytes']:6}"
        )
    if options.peers:
        command = [options.peers, "-c", PEERS, str(options.size), str(options.epsilon)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        results["peers"] = json.loads(run.stdout.strip().splitlines()[-1])
        print(f"\n{'peer':30} {'client ns':>12} {'server ns':>12} {'ours is faster by':>24}")
        for name, peers in PEER_OF.items():
            for peer in peers:
                r, ours = results["peers"].get(peer, {"error": "not run"}), results["oracles"][name]
                if "error" in r:
                    print(f"{peer:30} {r['error']}")
                    continue
                factors = [r[side] / ours[side] for side in ("client_ns", "server_ns")]
                print(
                    f"{peer:30} {r['client_ns']:12.0f} {r['server_ns']:12.0f} {factors[0]:10.0f} x {factors[1]:10.0f} x"
                )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
