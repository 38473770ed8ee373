"""Updates: how a model update becomes a few integers, and how integers of many clients become an average update.

    client:  clip each coordinate to [-r, r]; draw k of the d coordinates at random; privatise each at epsilon/k
    server:  u_j = (d / k n) * sum over the answers to coordinate j of r * value            [n-output, section 5.3]

The draw does not depend on the data, so a message is epsilon-LDP for the whole update: any two updates, whatever their
norm. The estimate is unbiased for the average *clipped* update, because each client answers coordinate j with
probability k/d. An average over those who answered would be biased here: with few clients and many coordinates nobody
may have answered j.

Every update of numbers gives a message: a NaN counts as 0 and an infinity as the end of the range. A server could
otherwise send a model whose update is not finite for some data only, and learn from who stays silent.

The error of a coordinate is r * sqrt(d (V + x^2) / (k n)), V the mechanism's variance at the client's scaled update x.
Updates are small beside any range that seldom clips, so V near zero counts, not the worst case. Unless told otherwise
the mechanism is therefore the one of least variance for small inputs, by linear programming, and k = 1: halving epsilon
more than doubles V.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from discreet import wire
from discreet.arrays import AnyArray, Counts
from discreet.errors import DiscreetError, DomainError, PrivacyError, WireError
from discreet.federated.tallies import PrivateUpdate, UpdateEstimate, UpdateTally
from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import require_numeric
from discreet.mechanisms.registry import mechanism
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.privacy.exact import check_epsilon
from discreet.privacy.ledger import split

MOST_COORDINATES = 1 << 40
"""The most coordinates of a model: coordinate and report share one 64-bit key of the tally."""
SMALL = 0.1
"""How large updates are expected to be, as a part of their range."""
KNOTS = 41
"""Knots of the mechanism that is chosen by default."""


@cache
def small_inputs(epsilon: float) -> Mechanism:
    """Return the mechanism of least expected variance where inputs are small: P(x) ~ exp(-|x| / 0.1).

    At epsilon 5 its variance at 0 is less than 0.6 of that of piecewise-sub, its worst case is larger. Needs the extra
    ``scipy``, which solves its linear programme.
    """
    return mechanism("adaptive-additive", epsilon, prior=np.exp(-np.abs(np.linspace(-1, 1, KNOTS)) / SMALL).tolist())


class Updates:
    """How updates of one model are privatised and averaged; the same on clients and server.

    Parameters
    ----------
    dimension : int
        d, number of coordinates of the model.
    epsilon : float
        Privacy of one message, that is of one client in one round.
    range : float
        r: each coordinate of an update is clipped to [-r, r]. Choose it without looking at the data; the error grows
        in proportion.
    coordinates : int
        k, how many coordinates a client sends, each at epsilon/k.
    method : str or Mechanism
        A mean mechanism by name; one that you built, with its own options, at most at epsilon/k; or "auto": least
        variance near zero.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Entropy
    >>> design = Updates(dimension=22, epsilon=5, range=0.3, method="piecewise-sub")
    >>> entropy = Entropy.seeded(1)
    >>> sent = [design.privatize(np.full(22, 0.1), entropy) for _ in range(5000)]
    >>> sent[0].coordinates, sent[0].reports
    (array([1]), array([783], dtype=uint16))
    >>> estimate = design.estimate(design.tally(sent[:2000]) + design.tally(sent[2000:]))
    >>> f"{estimate.values.mean():.3f}, each ± {estimate.standard_error:.3f}"
    '0.100, each ± 0.008'
    """

    def __init__(
        self,
        dimension: int,
        epsilon: float,
        range: float,
        coordinates: int = 1,
        method: str | Mechanism = "auto",
    ) -> None:
        self.epsilon, self.dimension = check_epsilon(epsilon), check_whole("dimension", dimension, 1)
        self.coordinates = check_whole("coordinates", coordinates, 1)
        if self.dimension > MOST_COORDINATES:
            raise DiscreetError(f"dimension must be at most {MOST_COORDINATES}, not {dimension}")
        if self.coordinates > self.dimension:
            raise DiscreetError(f"coordinates must be a whole number from 1 to {self.dimension}, not {coordinates}")
        if isinstance(range, bool) or not isinstance(range, (int, float, np.number)) or not 0 < range < np.inf:
            raise DiscreetError(f"range must be a finite number above 0, not {range!r}")
        self.range = float(range)
        self.mechanism = require_numeric(self._mechanism(method), "An average update")
        if not self.mechanism.certificate.unbiased:
            raise DiscreetError(f"method must be an unbiased mechanism for numbers, not {self.mechanism.name}")
        self.mechanism.certificate.require(self.mechanism.name)

    def _mechanism(self, method: str | Mechanism) -> Mechanism:
        share = split(self.epsilon, self.coordinates)
        if isinstance(method, str) and method != "auto":
            return mechanism(method, share)
        if isinstance(method, str):
            return small_inputs(share)
        if not isinstance(method, Mechanism):
            raise DiscreetError(f"method must be a mechanism or its name, not {method!r}")
        if method.epsilon > share:
            raise PrivacyError(
                f"method must have epsilon {share:g} at most, not {method.epsilon:g}: "
                f"{self.coordinates} answers share epsilon {self.epsilon:g}"
            )
        return method

    def __repr__(self) -> str:
        return (
            f"<updates: {self.coordinates} of {self.dimension} coordinates at epsilon {self.mechanism.epsilon:g} each, "
            f"range ±{self.range:g}, {self.mechanism.name}>"
        )

    # -- documents ----------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the design as a document: what a server gives its clients, mechanism included."""
        return wire.canonical(
            {
                "discreet": wire.VERSION,
                "kind": "updates",
                "dimension": self.dimension,
                "epsilon": repr(self.epsilon),
                "range": repr(self.range),
                "coordinates": self.coordinates,
                "mechanism": [self.mechanism.to_document()],
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> "Updates":
        """Read a design and verify it: the mechanism's certificate is computed again, its epsilon held to the claim.

        Examples
        --------
        >>> design = Updates(dimension=22, epsilon=5, range=0.3, coordinates=2, method="duchi")
        >>> Updates.from_json(design.to_json())
        <updates: 2 of 22 coordinates at epsilon 2.5 each, range ±0.3, duchi>
        """
        fields = wire.Fields(wire.read_document(text))
        fields.integer("discreet", wire.VERSION, wire.VERSION)
        if fields.text("kind") != "updates":
            raise WireError(f"kind must be 'updates', not {fields.text('kind')!r}")
        documents = fields.documents("mechanism")
        if len(documents) != 1:
            raise WireError(f"mechanism must hold one document, not {len(documents)}")
        design = cls(
            fields.integer("dimension", 1),
            fields.real("epsilon"),
            fields.real("range"),
            fields.integer("coordinates", 1),
            Mechanism.from_document(documents[0]),
        )
        fields.done()
        return design

    # -- the client ---------------------------------------------------------------------------------------

    def privatize(self, update: Any, entropy: Entropy | None = None) -> PrivateUpdate:
        """Privatise one client's update; only what this returns may leave the device.

        Parameters
        ----------
        update : array_like of shape (dimension,)
            New parameters less old ones; a NaN counts as 0, an infinity as the end of the range.
        entropy : Entropy, optional
            The operating system's unless given; a seeded one is for simulation and tests.
        """
        array = np.asarray(update)
        if array.shape != (self.dimension,):
            raise DomainError(f"update must have the shape ({self.dimension},), not {array.shape}")
        drawn, reports = self.privatize_all(array[None], entropy)
        return PrivateUpdate(self.mechanism.id, drawn[0], reports[0])

    def privatize_all(self, updates: Any, entropy: Entropy | None = None) -> tuple[Counts, AnyArray]:
        """Privatise the updates of several clients at once, one per row: for simulation.

        Returns
        -------
        coordinates, reports : numpy.ndarray of shape (clients, k)
        """
        source = system_entropy() if entropy is None else entropy
        array = np.asarray(updates)
        # The errors below quote no value: an exception's text may be sent to the server.
        if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != self.dimension:
            raise DomainError(
                f"updates must be numbers, {self.dimension} per client, "
                f"not of type {array.dtype} and shape {array.shape}"
            )
        drawn = self._draw(len(array), source)
        with np.errstate(all="ignore"):  # whatever the caller has set: nothing may depend on the update
            floats = np.take_along_axis(array, drawn, axis=1).astype(np.float64)
            finite = np.nan_to_num(floats, nan=0.0, posinf=self.range, neginf=-self.range)
            scaled = np.clip(finite / self.range, -1.0, 1.0)
        reports = self.mechanism.privatize(scaled.ravel(), source)
        return drawn, reports.reshape(drawn.shape)

    def _draw(self, clients: int, source: Entropy) -> Counts:
        """Return k different coordinates for each client, every set equally likely: those of the smallest words."""
        words = source.words(clients * self.dimension).reshape(clients, self.dimension)
        k = self.coordinates
        smallest = words.argmin(axis=1)[:, None] if k == 1 else np.argpartition(words, k - 1, axis=1)[:, :k]
        return np.sort(smallest, axis=1).astype(np.int64)

    # -- the server ---------------------------------------------------------------------------------------

    def check(self, sent: PrivateUpdate) -> PrivateUpdate:
        """Return a message if a client of this design could have sent it; otherwise say what is wrong with it."""
        if sent.mechanism != self.mechanism.id:
            raise DiscreetError(
                f"the message must be of mechanism {self.mechanism.name}, not of {str(sent.mechanism)[:12]}…"
            )
        drawn = np.asarray(sent.coordinates)
        if drawn.dtype.kind not in "iu" or drawn.shape != (self.coordinates,):
            raise DiscreetError(
                f"coordinates must be {self.coordinates} whole numbers, "
                f"not of type {drawn.dtype} and shape {drawn.shape}"
            )
        if int(drawn.min()) < 0 or int(drawn.max()) >= self.dimension or (np.diff(drawn.astype(np.int64)) <= 0).any():
            raise DiscreetError(f"coordinates must rise from 0 to {self.dimension - 1}, not {drawn.tolist()}")
        reports = self.mechanism.check_reports(sent.reports)
        if reports.shape != drawn.shape:
            raise DiscreetError(
                f"there must be one report for each of {self.coordinates} coordinates, not {len(reports)}"
            )
        return PrivateUpdate(sent.mechanism, drawn.astype(np.int64), reports)

    def tally(self, sent: Any) -> UpdateTally:
        """Count the messages of any number of clients, one `PrivateUpdate` each."""
        checked = [self.check(one) for one in sent]
        if not checked:
            return UpdateTally(self.mechanism.id, 0, np.empty(0, np.int64), np.empty(0, np.int64))
        return self.tally_all(np.stack([c.coordinates for c in checked]), np.stack([c.reports for c in checked]))

    def tally_all(self, coordinates: Counts, reports: AnyArray) -> UpdateTally:
        """Count what `privatize_all` returned."""
        keys = coordinates.astype(np.int64) * self.mechanism.alphabet + reports.astype(np.int64)
        found, counts = np.unique(keys, return_counts=True)
        return UpdateTally(self.mechanism.id, len(coordinates), found, counts.astype(np.int64))

    def estimate(self, tally: UpdateTally) -> UpdateEstimate:
        """Return the average clipped update of the tallied clients, with its standard error."""
        if tally.mechanism != self.mechanism.id:
            raise DiscreetError(f"tally must be of mechanism {self.mechanism.name}, not of {tally.mechanism[:12]}…")
        if tally.n < 1:
            raise DiscreetError("an average needs at least one client; the tally holds none")
        coordinate, report = np.divmod(tally.keys, self.mechanism.alphabet)
        values = self.mechanism.values[report]
        spread = self.dimension / (self.coordinates * tally.n)  # one over how many clients answer a coordinate
        sums = np.bincount(coordinate, weights=values * tally.counts, minlength=self.dimension).astype(np.float64)
        square = float((values**2 * tally.counts).sum()) / (tally.n * self.coordinates)
        return UpdateEstimate(self.range * spread * sums, self.range * math.sqrt(spread * square), tally.n)
