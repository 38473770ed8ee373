"""Random sampling with fake data (RS+FD): what it really reveals. It is shown here, and not offered.

A person has answers to k questions. One question is drawn in secret; its answer is randomised, every other answer is
drawn evenly among the options, and all k are sent. Hiding which one is real is said to amplify privacy, so that the one
answer may have ln(k (e^epsilon - 1) + 1) for a claim of epsilon. That holds between records that differ in one answer.
Between any two records it does not: where all answers differ at once, each possible choice of the real one says the
same, and the exact epsilon of a record is that of the one answer,

    P(y | x) = 1/k sum_j P(y_j | x_j) size^(1-k)    ->    ln(k (e^epsilon - 1) + 1).

The whole channel is enumerated below, in fractions.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from discreet.errors import DiscreetError
from discreet.privacy.exact import check_epsilon, exp_below, log_above, two_weights

MOST_RECORDS = 1 << 10
"""The channel is enumerated for at most this many records."""


@dataclass(frozen=True)
class FakeData:
    """The exact privacy of random sampling with fake data.

    Attributes
    ----------
    claimed : float
        The epsilon that is claimed for the whole record.
    epsilon : float
        The exact one, between any two records; rounded up.
    epsilon_one_answer : float
        The exact one between records that differ in one answer; rounded up.
    """

    questions: int
    size: int
    claimed: float
    epsilon: float
    epsilon_one_answer: float

    @property
    def holds(self) -> bool:
        """Whether the claim is true of records."""
        return self.epsilon <= self.claimed


def fake_data(questions: int, epsilon: float, size: int = 2) -> FakeData:
    """Enumerate the channel of random sampling with fake data.

    Parameters
    ----------
    questions : int
        How many questions a record answers.
    epsilon : float
        What is claimed for the record.
    size : int
        Number of options of every question.

    Examples
    --------
    >>> found = fake_data(3, 1.0)
    >>> round(found.epsilon, 3), round(found.epsilon_one_answer, 3), found.holds
    (1.817, 1.0, False)
    """
    epsilon = check_epsilon(epsilon)
    if questions < 2 or size < 2 or size**questions > MOST_RECORDS:
        raise DiscreetError(
            f"questions and size must be at least 2, with at most {MOST_RECORDS} records, not {questions} and {size}"
        )
    amplified = math.log(questions * (float(exp_below(epsilon)) - 1) + 1)
    high, low = two_weights(check_epsilon(amplified, "the epsilon of one answer"), 1, size - 1)
    records = list(product(range(size), repeat=questions))
    # By symmetry one report stands for all: what matters is how many of its answers a record has.
    report = records[0]
    weights = {record: sum(high if a == b else low for a, b in zip(record, report, strict=True)) for record in records}
    worst, near = Fraction(max(weights.values()), min(weights.values())), Fraction(1)
    for record, weight in weights.items():
        for j, option in product(range(questions), range(size)):
            other = (*record[:j], option, *record[j + 1 :])
            near = max(near, Fraction(weight, weights[other]))
    return FakeData(questions, size, epsilon, log_above(worst), log_above(near))
