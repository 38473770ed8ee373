"""The mod and the strategy with Flower's own objects; run in Flower's environment (`make setup-flower`)."""

import json
import math
import pickle

import numpy as np
import pytest

flwr = pytest.importorskip("flwr", reason="Flower is not installed here; test_environment.py runs this where it is")

from flwr.app import (  # noqa: E402
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.supercore.task_identity import TaskIdentity  # noqa: E402

from discreet.device.ledger import Ledger  # noqa: E402
from discreet.errors import DiscreetError  # noqa: E402
from discreet.federated import Updates  # noqa: E402
from discreet.federated.flower import RECORD, REFUSED, SPENT, TallyStrategy, UpdateMod, flat  # noqa: E402

SECRET = 0.123456789
"""The update that must not be found in any reply."""


@pytest.fixture(autouse=True, scope="module")
def identity():
    """What Flower's runtime tells a process before it may make messages."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


def model():
    return ArrayRecord({"weights": Array(np.zeros((2, 3), np.float32)), "biases": Array(np.zeros(2, np.float32))})


def context():
    return Context(run_id=1, node_id=7, node_config={"partition-id": 3}, state=RecordDict(), run_config={})


def instruction(kind="train", round_number=1, **records):
    content = {"arrays": model(), "config": ConfigRecord({"server-round": round_number})} | records
    return Message(RecordDict({k: v for k, v in content.items() if v is not None}), dst_node_id=7, message_type=kind)


def trained(step=SECRET):
    return ArrayRecord(
        {"weights": Array(np.full((2, 3), step, np.float32)), "biases": Array(np.full(2, step, np.float32))}
    )


def train(message, context):
    metrics = MetricRecord({"train-loss": SECRET, "num-examples": 31})
    return Message(RecordDict({"arrays": trained(), "metrics": metrics}), reply_to=message)


@pytest.fixture
def design():
    return Updates(8, 5.0, 0.3, coordinates=2, method="duchi")


@pytest.fixture
def mod(design, tmp_path):
    return UpdateMod(design, tmp_path / "ledger", 10, "gamma")


def everything(message):
    """All bytes and texts of a message that can leave."""
    if message.has_error():
        return repr(message.error).encode()
    found = [repr(message.content).encode()]
    for record in message.content.array_records.values():
        found += [array.data for array in record.values()]
    return b"".join(found)


def refused(reply, reason=REFUSED):
    assert reply.has_error()
    assert not reply.has_content()
    assert reply.error.reason == reason
    assert b"1234567" not in everything(reply)
    return True


def test_only_privatised_integers_leave(mod, design):
    reply = mod(instruction(), context(), train)
    assert set(reply.content) == {RECORD, f"{RECORD}.design"}
    assert not reply.content.metric_records
    record = reply.content[RECORD]
    assert set(record) == {"coordinates", "reports"}
    assert all(array.numpy().dtype.kind in "iu" and array.numpy().shape == (2,) for array in record.values())
    assert dict(reply.content[f"{RECORD}.design"]) == {"mechanism": design.mechanism.id}
    assert np.float32(SECRET).tobytes() not in everything(reply)
    assert reply.metadata.message_type == "train"


def test_an_app_with_the_mod(mod, design):
    app = ClientApp(mods=[mod])
    app.train()(train)
    app.evaluate()(train)
    assert RECORD in app(instruction(), context()).content
    assert refused(app(instruction("evaluate"), context()))


def test_a_raw_update_would_be_noticed():
    """Control: without the mod the update is in the reply."""
    assert np.float32(SECRET).tobytes() in everything(train(instruction(), context()))


def test_the_difference_is_taken_from_what_came(design, tmp_path):
    """Training in place on the arrays that came does not make the update zero."""
    seen = []

    class Spy(Updates):
        def privatize(self, update, entropy=None):
            seen.append(np.array(update))
            return super().privatize(update, entropy)

    spy = Spy(8, 5.0, 0.3, method="duchi")
    mod = UpdateMod(spy, tmp_path / "ledger", 5)

    def in_place(message, context):
        message.content["arrays"] = trained(0.25)
        return Message(RecordDict({"arrays": message.content["arrays"]}), reply_to=message)

    mod(instruction(), context(), in_place)
    assert np.array_equal(seen[0], np.full(8, 0.25))


# -- failing closed ---------------------------------------------------------------------------------------


def answering(records=None, error=None):
    def reply(message, context):
        if error is not None:
            return Message(Error(code=0, reason=error), reply_to=message)
        return Message(RecordDict(records), reply_to=message)

    return reply


def raising(message, context):
    raise RuntimeError(f"diverged at {SECRET}")


def quitting(message, context):
    return None


BAD_TRAINING = {
    "an exception that quotes the data": raising,
    "an error that quotes the data": answering(error=f"diverged at {SECRET}"),
    "nothing at all": quitting,
    "no arrays": answering({"metrics": MetricRecord({"loss": SECRET})}),
    "two records of arrays": answering({"a": trained(), "b": trained()}),
    "arrays of another name": answering({"a": ArrayRecord({"w": Array(np.full((2, 3), SECRET))})}),
    "arrays of another shape": answering(
        {"a": ArrayRecord({"weights": Array(np.full((3, 2), SECRET)), "biases": Array(np.zeros(2))})}
    ),
    "not a number": answering({"a": trained(np.nan)}),
    "infinite": answering({"a": trained(np.inf)}),
    "whole numbers": answering(
        {"a": ArrayRecord({"weights": Array(np.ones((2, 3), np.int64)), "biases": Array(np.ones(2, np.int64))})}
    ),
}


@pytest.mark.parametrize("training", BAD_TRAINING.values(), ids=BAD_TRAINING)
def test_bad_training_is_not_visible(mod, design, training):
    reply = mod(instruction(), context(), training)
    record = reply.content[RECORD]
    assert all(array.numpy().shape == (2,) for array in record.values())
    design.mechanism.check_reports(record["reports"].numpy())
    assert b"1234567" not in everything(reply)
    assert mod.ledger.spent("me") == design.epsilon


BAD_MESSAGES = {
    "evaluation": {"kind": "evaluate"},
    "a query": {"kind": "query"},
    "a kind of older versions": {"kind": "get_parameters"},
    "no arrays": {"arrays": None},
    "two records of arrays": {"more": model()},
    "no configuration": {"config": None},
    "no round": {"config": ConfigRecord({"lr": 0.1})},
    "round zero": {"round_number": 0},
    "round as text": {"round_number": "1"},
    "another model": {"arrays": ArrayRecord({"weights": Array(np.zeros(3, np.float32))})},
    "integer model": {"arrays": ArrayRecord({"weights": Array(np.zeros((2, 3), np.int64))})},
}


@pytest.mark.parametrize("message", BAD_MESSAGES.values(), ids=BAD_MESSAGES)
def test_bad_messages_get_nothing(mod, message):
    kept = {"config": message["config"]} if "config" in message else {}
    others = {k: v for k, v in message.items() if k != "config"}
    assert refused(mod(instruction(**others, **kept), context(), train))


def test_named_training_is_training(mod):
    assert RECORD in mod(instruction("train.second_stage"), context(), train).content


def test_a_model_of_another_size_than_the_design_sends_nothing(tmp_path):
    assert refused(UpdateMod(Updates(9, 5.0, 0.3), tmp_path / "ledger", 10)(instruction(), context(), train))


def test_a_spent_budget_is_refused_before_training(mod):
    trainings = []

    def counted(message, context):
        trainings.append(1)
        return train(message, context)

    for number in (1, 2):
        assert mod(instruction(round_number=number), context(), counted).has_content()
    assert refused(mod(instruction(round_number=3), context(), counted), SPENT)
    assert len(trainings) == 2
    assert mod.ledger.spent("me") == 10


def test_a_damaged_ledger_sends_nothing(mod, tmp_path):
    with (tmp_path / "ledger").open("a") as file:
        file.write("not a line of a ledger\n")
    assert refused(mod(instruction(), context(), train))


def test_a_ledger_that_cannot_be_written_sends_nothing(mod, tmp_path):
    (tmp_path / "ledger").unlink()
    (tmp_path / "ledger").mkdir()
    assert refused(mod(instruction(), context(), train))


def test_a_copy_in_another_process_knows_what_was_spent(mod):
    copy = pickle.loads(pickle.dumps(mod))
    assert mod(instruction(), context(), train).has_content()
    assert copy(instruction(round_number=2), context(), train).has_content()
    assert refused(copy(instruction(round_number=3), context(), train), SPENT)
    assert refused(mod(instruction(round_number=3), context(), train), SPENT)


def test_accounts_of_simulated_clients(design, tmp_path):
    mod = UpdateMod(design, tmp_path / "ledger", 5, subject=lambda c: str(c.node_config["partition-id"]))
    assert mod(instruction(), context(), train).has_content()
    assert Ledger(tmp_path / "ledger").spent("3") == 5
    entry = json.loads((tmp_path / "ledger").read_text().splitlines()[1])
    assert (entry["campaign"], entry["round"], entry["epsilon"]) == ("federated", 1, "5")


def test_a_mod_needs_a_limit(design, tmp_path):
    with pytest.raises(TypeError):
        UpdateMod(design, tmp_path / "ledger")
    with pytest.raises(DiscreetError, match="does not exist"):
        UpdateMod(design, tmp_path / "ledger", None)
    with pytest.raises(DiscreetError, match="must have a limit"):
        UpdateMod(design, tmp_path / "ledger", math.inf)


# -- the server -------------------------------------------------------------------------------------------


class Nodes:
    """A grid of connected nodes; all that the strategy asks of it."""

    def get_node_ids(self):
        return [7, 8]


def test_replies_become_a_model(tmp_path):
    design = Updates(8, 8.0, 0.3, method="piecewise-sub")
    mod = UpdateMod(design, tmp_path / "ledger", 10**6)
    strategy = TallyStrategy(design)
    sent = list(strategy.configure_train(1, model(), ConfigRecord(), Nodes()))
    assert len(sent) == 2
    assert sent[0].content["config"]["server-round"] == 1
    replies = [mod(instruction(), context(), train) for _ in range(1500)]
    arrays, metrics = strategy.aggregate_train(1, replies)
    assert list(arrays) == ["weights", "biases"]
    assert arrays["weights"].numpy().shape == (2, 3)
    assert arrays["weights"].numpy().dtype == np.float32
    error = metrics["standard-error"]
    assert error < 0.03
    assert np.abs(flat(arrays) - SECRET).max() < 5 * error
    assert metrics["clients"] == 1500
    assert metrics["left-out"] == 0


def test_a_stranger_cannot_stop_a_round(mod, design):
    strategy = TallyStrategy(design)
    strategy.configure_train(1, model(), ConfigRecord(), Nodes())
    good = mod(instruction(), context(), train)

    def forged(coordinates, reports, mechanism=design.mechanism.id):
        arrays = ArrayRecord({"coordinates": Array(np.array(coordinates)), "reports": Array(np.array(reports))})
        told = ConfigRecord({"mechanism": mechanism})
        return Message(RecordDict({RECORD: arrays, f"{RECORD}.design": told}), reply_to=instruction())

    strangers = [
        train(instruction(), context()),
        Message(RecordDict(), reply_to=instruction()),
        Message(Error(code=6, reason=SPENT), reply_to=instruction()),
        forged([0, 8], [0, 1]),
        forged([0, 1], [0, 2]),
        forged([0, 1], [0.5, 0.5]),
        forged([0, 1], [0, 1], "0" * 64),
    ]
    arrays, metrics = strategy.aggregate_train(1, [*strangers, good])
    assert metrics["clients"] == 1
    assert metrics["left-out"] == len(strangers)
    assert np.count_nonzero(flat(arrays)) == 2
    assert strategy.aggregate_train(2, strangers) == (None, None)
    assert strategy.aggregate_train(2, []) == (None, None)


def test_a_model_that_does_not_fit_the_design_is_not_sent():
    with pytest.raises(DiscreetError, match="the model must have 9 parameters like the design, not 8"):
        TallyStrategy(Updates(9, 5.0, 0.3)).configure_train(1, model(), ConfigRecord(), Nodes())


def test_nobody_is_asked_to_evaluate(design):
    assert TallyStrategy(design).configure_evaluate(1, model(), ConfigRecord(), Nodes()) == []
