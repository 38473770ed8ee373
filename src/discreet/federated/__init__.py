"""Federated learning under local differential privacy: model updates leave a device only as a few privatised integers.

`Updates` is the design that both sides share: clip, draw k coordinates, privatise each at epsilon/k; and, on the
server, tallies and the unbiased estimate of the average update. `UpdateClient` is a device with a ledger: each round
is charged, and refused once the budget is spent. `discreet.federated.flower` puts both into Flower (extra `flower`).
"""

from discreet.federated.client import UpdateClient
from discreet.federated.tallies import PrivateUpdate, UpdateEstimate, UpdateTally
from discreet.federated.updates import Updates

__all__ = ["Updates", "UpdateClient", "PrivateUpdate", "UpdateTally", "UpdateEstimate"]
