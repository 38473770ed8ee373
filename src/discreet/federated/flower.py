"""Flower: a client-side mod through which updates leave as privatised integers, and a strategy that adds them up.

On the device, `UpdateMod` stands between the training function and the network. What the function returns is compared
with the parameters that came in; the difference is clipped, k coordinates of it are privatised, the round is charged to
the device's ledger, and a new reply is made of these integers alone. Metrics, the number of examples, evaluation
results and any other record stay on the device: nothing bounds what they say.

It fails closed, and only before the data is read: for another kind of message, a model that does not fit the design, a
ledger that cannot be used, a budget that is spent, the reply is an error with a fixed sentence. Once training has begun
a message goes out whatever happens. If training fails, or returns arrays that do not fit, an update of zeros is
privatised; a NaN counts as 0, an infinity as the end of the range. A model that makes training fail for some data only
learns nothing from it. Neither parameters nor the text of an exception, which may quote them, leave the device.

The design, limit and ledger are the device's own; nothing in a message can change them.
"""

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MessageType, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp.strategy import FedAvg

from discreet.device.ledger import Ledger
from discreet.errors import DiscreetError
from discreet.federated.client import UpdateClient
from discreet.federated.tallies import PrivateUpdate
from discreet.federated.updates import Updates
from discreet.privacy.ledger import BudgetError, Rational

RECORD = "discreet"
"""Name of the one record in a reply."""
SPENT = "the device's privacy budget is spent; nothing was sent"
REFUSED = "the device could not privatise an update; nothing was sent"

_LOG = logging.getLogger("discreet.federated")


def flat(record: ArrayRecord) -> npt.NDArray[np.float64]:
    """Return all parameters in one vector, array after array; only floating ones have differences to average."""
    arrays = {key: array.numpy() for key, array in record.items()}
    for key, array in arrays.items():
        if array.dtype.kind != "f":
            raise DiscreetError(f"array {key!r} must hold floating-point numbers, not {array.dtype}")
    return np.concatenate([np.empty(0), *(array.astype(np.float64).ravel() for array in arrays.values())])


class UpdateMod:
    """The mod of a `ClientApp`: put it first, so that nothing else sees the network.

    Parameters
    ----------
    design : Updates
        The same as the server's (`Updates.from_json` verifies one that came from there).
    ledger : path
        File that remembers what this device has spent, made with the limit if it does not exist.
    limit : number or fraction
        The most that the device may spend, over all rounds.
    campaign : str
        Which model; it labels the ledger's entries.
    subject : callable, optional
        Whose account is charged, by context. One device is one person unless given; a simulation of many clients on one
        machine needs ``lambda context: str(context.node_config["partition-id"])``. Never the node id, which a device
        gets anew with every registration.
    """

    def __init__(
        self,
        design: Updates,
        ledger: str | os.PathLike[str],
        limit: Rational,
        campaign: str = "federated",
        subject: Callable[[Context], str] | None = None,
    ) -> None:
        self.design, self.campaign, self.subject = design, campaign, subject
        self.ledger = Ledger(ledger, limit)
        UpdateClient(design, self.ledger, campaign=campaign)  # says now what every message would be refused for

    def __call__(self, message: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        """Answer a message of the server."""
        try:
            content = self._answer(message, context, call_next)
        except BudgetError as error:
            _LOG.warning("refused: %s", error)
            return _refusal(message, SPENT)
        except Exception as error:  # whatever it was: nothing of the update may leave
            _LOG.warning("refused: %s", error if isinstance(error, DiscreetError) else type(error).__name__)
            return _refusal(message, REFUSED)
        return Message(content, reply_to=message)

    def _answer(
        self, message: Message, context: Context, call_next: Callable[[Message, Context], Message]
    ) -> RecordDict:
        if message.metadata.message_type.split(".")[0] != MessageType.TRAIN:
            raise DiscreetError(f"only training is answered, not a message of type {message.metadata.message_type!r}")
        round_number = _round(message)
        _, before = _only(message.content.array_records)
        known = {key: array.numpy().copy() for key, array in before.items()}  # training may work in place
        subject = "me" if self.subject is None else self.subject(context)
        client = UpdateClient(self.design, self.ledger, subject, self.campaign)
        ahead = client.preview(round_number)
        if not ahead.is_allowed:
            raise BudgetError(str(ahead))  # before anybody trains for nothing
        start = flat(ArrayRecord({key: Array(array) for key, array in known.items()}))
        if start.size != self.design.dimension:
            raise DiscreetError(f"the model must have {self.design.dimension} parameters, not {start.size}")
        update = np.zeros(self.design.dimension)
        try:
            trained = _trained(call_next(message, context), known)
            with np.errstate(all="ignore"):
                update = trained - start
        except Exception as error:  # silence would tell the server for which data training fails
            _LOG.warning("training failed, an update of zeros is sent: %s", type(error).__name__)
        sent = client.answer(update, round_number)
        return RecordDict(
            {
                RECORD: ArrayRecord({"coordinates": Array(sent.coordinates), "reports": Array(sent.reports)}),
                f"{RECORD}.design": ConfigRecord({"mechanism": sent.mechanism}),
            }
        )


def _trained(reply: Message, known: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Return the parameters after training, or raise an error if they do not fit those that came."""
    if reply.has_error():
        raise DiscreetError("training failed")
    _, after = _only(reply.content.array_records)
    if [(k, a.shape) for k, a in known.items()] != [(k, a.numpy().shape) for k, a in after.items()]:
        raise DiscreetError("the trained arrays have other names or shapes than those that came")
    return flat(after)


def _round(message: Message) -> int:
    _, config = _only(message.content.config_records)
    number = config["server-round"]
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise DiscreetError("server-round must be a whole number from 1")
    return number


def _only(records: Any) -> tuple[str, Any]:
    if len(records) != 1:
        raise DiscreetError(f"the message must hold one record of each kind, not {len(records)}")
    found: tuple[str, Any] = next(iter(records.items()))
    return found


def _refusal(message: Message, reason: str) -> Message:
    return Message(Error(code=ErrorCode.MOD_FAILED_PRECONDITION, reason=reason), reply_to=message)


class TallyStrategy(FedAvg):  # type: ignore[misc]
    """Federated averaging of what `UpdateMod` sends: tallies, the unbiased estimate, the new model.

    Clients are not weighted (a number of examples would say something of them) and do not evaluate: give
    ``evaluate_fn`` to `start` for a test on the server. Messages that no honest client could have sent are left out
    and counted; a round without any other leaves the model as it is.

    Parameters
    ----------
    design : Updates
        The same as the clients'.
    fraction_train, min_train_nodes, min_available_nodes
        As of `flwr.serverapp.strategy.FedAvg`.
    """

    def __init__(
        self,
        design: Updates,
        fraction_train: float = 1.0,
        min_train_nodes: int = 2,
        min_available_nodes: int = 2,
    ) -> None:
        super().__init__(
            fraction_train=fraction_train,
            fraction_evaluate=0.0,
            min_train_nodes=min_train_nodes,
            min_available_nodes=min_available_nodes,
        )
        self.design = design
        self._model: ArrayRecord | None = None

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any
    ) -> Iterable[Message]:
        """Remember the model that goes out, and send it."""
        size = flat(arrays).size
        if size != self.design.dimension:
            raise DiscreetError(f"the model must have {self.design.dimension} parameters like the design, not {size}")
        self._model = arrays
        messages: Iterable[Message] = super().configure_train(server_round, arrays, config, grid)
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Tally the replies and add the estimated average update to the model."""
        listed = list(replies)
        sent = [found for found in map(self._read, listed) if found is not None]
        if not sent or self._model is None:
            return None, None
        estimate = self.design.estimate(self.design.tally(sent))
        arrays, place = {}, 0
        for key, array in self._model.items():
            old = array.numpy()
            step = estimate.values[place : place + old.size].reshape(old.shape)
            arrays[key] = Array((old + step).astype(old.dtype))
            place += old.size
        told = {"clients": estimate.n, "left-out": len(listed) - len(sent), "standard-error": estimate.standard_error}
        return ArrayRecord(arrays), MetricRecord(told)

    def _read(self, reply: Message) -> PrivateUpdate | None:
        if reply.has_error():
            _LOG.info("node %s: %s", reply.metadata.src_node_id, reply.error.reason)
            return None
        try:
            record = reply.content[RECORD]
            told = reply.content[f"{RECORD}.design"]["mechanism"]
            return self.design.check(PrivateUpdate(told, record["coordinates"].numpy(), record["reports"].numpy()))
        except Exception as error:  # these bytes may come from anyone
            _LOG.warning("node %s sent something else: %s", reply.metadata.src_node_id, error)
            return None
