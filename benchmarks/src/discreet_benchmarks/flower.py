"""The federated case study on Flower's simulation engine (Ray): real messages, real processes, the mod on each client.

make flower            in Flower's own environment; two to ten minutes
python -m discreet_benchmarks.flower --rounds 3 --out out/flower.json

500 nodes hold shards of the N-output paper's data set; 10 % of them answer in each of 50 rounds, with epsilon 5 per
round. Shards, first model and training are those of the in-process simulator
(`discreet_papers.n_output.federated.simulator`), so the two must agree. Flower chooses who is drawn, and the noise
comes from the operating system, so there is no seed.
"""

import argparse
import datetime
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # Flower calls home unless told not to
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

import discreet
from discreet.device.ledger import Ledger
from discreet.federated import Updates
from discreet.federated.flower import TallyStrategy, UpdateMod, flat
from discreet_papers.n_output.federated.simulator import (
    CLIENTS,
    DRAWN,
    accuracy,
    first_model,
    local_updates,
    problem,
    shards,
)

SEED = 0


def client_app(data: str, design: Updates, ledger: Path, limit: float) -> ClientApp:
    """Return what runs on every node."""
    mod = UpdateMod(design, ledger, limit, data, subject=lambda context: str(context.node_config["partition-id"]))
    app = ClientApp(mods=[mod])
    case = problem(data)
    records = shards(case, np.random.default_rng(SEED))

    @app.train()  # type: ignore[untyped-decorator]  # Flower has no types
    def train(message: Message, context: Context) -> Message:
        mine = records[context.node_config["partition-id"]]
        before = message.content["arrays"]["model"].numpy()
        update = local_updates(before, case.features[mine][None], case.labels[mine][None], case.classes)[0]
        arrays = ArrayRecord({"model": Array(before + update)})
        return Message(
            RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": len(mine)})}), reply_to=message
        )

    return app


def server_app(data: str, design: Updates, rounds: int, told: dict[str, Any]) -> ServerApp:
    """Return what runs on the server; the accuracies go into ``told``."""
    app = ServerApp()
    case = problem(data)
    rng = np.random.default_rng(SEED)
    shards(case, rng)  # the first model comes after the shards, as in the simulator
    first = ArrayRecord({"model": Array(first_model(case, rng))})

    def test(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        told["accuracy"].append(round(accuracy(case, flat(arrays)), 3))
        return MetricRecord({"accuracy": told["accuracy"][-1]})

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Grid, context: Context) -> None:
        strategy = TallyStrategy(design, DRAWN / CLIENTS, min_train_nodes=DRAWN, min_available_nodes=CLIENTS)
        result = strategy.start(grid, first, rounds, train_config=ConfigRecord(), evaluate_fn=test)
        told["clients"] = [metrics["clients"] for metrics in result.train_metrics_clientapp.values()]
        told["left_out"] = sum(metrics["left-out"] for metrics in result.train_metrics_clientapp.values())

    return app


def measure(data: str, method: str, rounds: int, limit: float) -> dict[str, Any]:
    import flwr
    import ray

    dimension = problem(data).dimension
    design = Updates(dimension, 5.0, 0.3, method=method)
    told: dict[str, Any] = {"accuracy": []}
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger"
        began = time.perf_counter()
        run_simulation(
            server_app(data, design, rounds, told),
            client_app(data, design, ledger, limit),
            CLIENTS,
            backend_config={"client_resources": {"num_cpus": 1}, "init_args": {"include_dashboard": False}},
        )
        seconds = time.perf_counter() - began
        kept = Ledger(ledger)
        spent = np.array([float(kept.spent(str(client))) for client in range(CLIENTS)])
    return {
        "data": data,
        "paper_data": problem(data).paper,
        "method": method,
        "mechanism": design.mechanism.name,
        "epsilon": design.epsilon,
        "range": design.range,
        "coordinates": design.coordinates,
        "clients": CLIENTS,
        "drawn": DRAWN,
        "rounds": rounds,
        "limit": limit,
        "date": datetime.date.today().isoformat(),
        "version": discreet.__version__,
        "flwr": flwr.__version__,
        "ray": ray.__version__,
        "seconds": round(seconds, 1),
        "answers": int(sum(told["clients"])),
        "left_out": int(told["left_out"]),
        "accuracy": told["accuracy"],
        "spent": {"mean": spent.mean(), "busiest": spent.max(), "answers_charged": round(spent.sum() / design.epsilon)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["gamma", "shuttle"], choices=["gamma", "shuttle"])
    parser.add_argument("--method", default="hybrid-np")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--limit", type=float, default=250.0)
    parser.add_argument("--out", type=Path, default=Path("docs/results/federated_flower.json"))
    options = parser.parse_args()
    found = [measure(data, options.method, options.rounds, options.limit) for data in options.data]
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for one in found:
        print(f"{one['data']}: {one['accuracy'][-1]} % after {one['rounds']} rounds, {one['seconds']} s; {options.out}")


if __name__ == "__main__":
    main()
