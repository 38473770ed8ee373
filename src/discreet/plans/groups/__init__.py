"""Groups: the same question by group, with labels that the collector knows, or with secret ones."""

from discreet.plans.groups.answer import GroupsAnswer
from discreet.plans.groups.known import KnownSharesAnswer
from discreet.plans.groups.plan import Groups
from discreet.plans.groups.secret import SecretGroupsAnswer

__all__ = ["Groups", "GroupsAnswer", "KnownSharesAnswer", "SecretGroupsAnswer"]
