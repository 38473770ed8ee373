"""Public coins: mechanisms whose reports begin with a choice that need not be secret.

The choice (a hash function, a row of a matrix) is made by the first word. Given it, the rest of the report is
epsilon-LDP, so it does not matter for privacy who makes it. The server may fix it by the report's id, which leaves a
liar less to choose and saves sending it.
"""

import hashlib
from abc import abstractmethod
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.errors import DiscreetError
from discreet.mechanisms.families import Categorical
from discreet.privacy.entropy import Entropy, system_entropy

_CHUNK = 1 << 14
"""Number of reports that are privatised at a time."""


class PublicCoin(Categorical):
    """A mechanism for categories whose first word is public."""

    @abstractmethod
    def coins(self, reports: AnyArray) -> AnyArray:
        """Return the public part of each report: what its public word alone decides."""

    def public_word(self, report_id: bytes) -> int:
        """Return the public word of a report id: anyone can compute it, nobody can choose it.

        The first 8 bytes of SHA-256(mechanism id, report id), little-endian.
        """
        return int.from_bytes(hashlib.sha256(bytes.fromhex(self.id) + report_id).digest()[:8], "little")

    def privatize(self, x: Any, entropy: Entropy | None = None, public: Any = None) -> Any:
        """Randomise canonical inputs; ``public`` gives the public word of each report (see `public_word`).

        Without ``public`` the client draws that word too. The same number of secret words is drawn either way.
        """
        if public is None:
            return super().privatize(x, entropy)
        source = system_entropy() if entropy is None else entropy
        if isinstance(x, (float, int, np.generic)):
            return self._one(self._check_one(x), [int(public), *self._words_of_one(source)[1:]])
        values = self.check_inputs(x)
        coins = np.asarray(public, dtype=np.uint64)
        if coins.shape != values.shape:
            raise DiscreetError(f"public must have one word for each of {len(values)} inputs, not shape {coins.shape}")
        out, sample = self._empty(len(values)), self._sampler(len(values))
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            words = source.words(len(values[part]) * self.words_per_report).copy()
            words[:: self.words_per_report] = coins[part]
            sample(values[part], words, out[part])
        return out
