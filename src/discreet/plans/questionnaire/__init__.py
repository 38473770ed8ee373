"""Questionnaires: many questions, one epsilon, one report for each person."""

from discreet.plans.questionnaire.plan import Questionnaire
from discreet.plans.questionnaire.questions import Choice, Number, Ticks

__all__ = ["Choice", "Number", "Questionnaire", "Ticks"]
