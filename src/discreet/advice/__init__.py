"""advise: which method for this question, epsilon and number of people; or how many people for a wanted error.

Errors of means, two-round variances and range means are computed from the exact variance of the mechanisms (`exact`,
`ranges`); those of frequencies as they are shown from it and a short simulation (`frequencies`); those of distributions
and of what is read off them are simulated (`rehearsal`). All need to know roughly how values are spread (`population`),
except a mean, whose worst case is known.
"""

from discreet.advice.ask import EPSILONS, advise, epsilon_needed, error_curve
from discreet.advice.base import Advice, Option
from discreet.advice.exact import knots_prior
from discreet.advice.groups import people_to_compare
from discreet.advice.plot import plot_errors
from discreet.advice.population import SHAPES, Population
from discreet.advice.questionnaire import SurveyAdvice
from discreet.advice.second_round import SecondRound, second_round

__all__ = [
    "EPSILONS",
    "SHAPES",
    "Advice",
    "Option",
    "Population",
    "SecondRound",
    "SurveyAdvice",
    "advise",
    "epsilon_needed",
    "error_curve",
    "knots_prior",
    "people_to_compare",
    "plot_errors",
    "second_round",
]
