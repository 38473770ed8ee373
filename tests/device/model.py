"""A small model of the device's transaction, and a search through all its interleavings and crashes.

Several actors (processes, threads or tabs) share one durable store: the ledger, its outbox and one lock. Each
wants to answer the round of a collector that hands out whatever report ids it likes. An actor may crash before any of
its steps; the operating system then frees its lock, the store stays as it is, and the actor starts again. Draws are
numbered, so that fresh noise can be told from a repeated report.

What must hold in every state that can be reached (`broken`):

- no report id is behind two different draws, however often it was sent;
- the collector has never received more different draws than the ledger has charged;
- the ledger has never charged more than the limit, and never one round twice.

A protocol is a list of steps. `TRANSACTION` is what `discreet.device` does; the others are what must not be done, and
the search must find out why.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

START, STOPPED = 0, -1


@dataclass(frozen=True)
class Actor:
    """One process, thread or tab: where it is in the protocol, and what it has in memory."""

    report: str
    step: int = START
    spent: int = 0
    waits: tuple[str, int] | None = None
    drawn: int = 0
    tries: int = 2


@dataclass(frozen=True)
class State:
    """Everything: the durable store, what the collector has received, and the actors."""

    actors: tuple[Actor, ...]
    charged: tuple[str, ...] = ()
    outbox: tuple[tuple[str, int], ...] = ()
    received: frozenset[tuple[str, int]] = frozenset()
    holder: int | None = None
    draws: int = 0
    crashes: int = 0


Step = Callable[[State, int, int], State | None]
"""What an actor does: the state after it, or None while it has to wait. The last argument is the limit."""


def _with(state: State, index: int, actor: Actor, **changes: object) -> State:
    actors = (*state.actors[:index], actor, *state.actors[index + 1 :])
    return replace(state, actors=actors, **changes)  # type: ignore[arg-type]


def _next(state: State, index: int, /, _stop: bool = False, **changes: object) -> State:
    actor = state.actors[index]
    return _with(state, index, replace(actor, step=STOPPED if _stop else actor.step + 1), **changes)


def lock(state: State, index: int, limit: int) -> State | None:
    """Take the lock, or wait for it."""
    return _next(state, index, holder=index) if state.holder is None else None


def unlock(state: State, index: int, limit: int) -> State:
    """Release the lock."""
    return _next(state, index, holder=None)


def read(state: State, index: int, limit: int) -> State:
    """Read ledger and outbox: what was charged, does a report wait?"""
    waits = state.outbox[0] if state.outbox else None
    actor = replace(state.actors[index], spent=len(state.charged), waits=waits)
    return _next(_with(state, index, actor), index)


def refuse(state: State, index: int, limit: int) -> State:
    """Stop if the round was charged before and nothing waits: an answer once charged is never drawn again."""
    actor = state.actors[index]
    if actor.waits is None and actor.spent:
        return _next(state, index, _stop=True, holder=None if state.holder == index else state.holder)
    return _next(state, index)


def charge(state: State, index: int, limit: int) -> State:
    """Charge the ledger, durably, if what was read leaves enough; nothing to charge where a report waits already."""
    actor = state.actors[index]
    if actor.waits is not None:
        return _next(state, index)
    if actor.spent >= limit:
        return _next(state, index, _stop=True, holder=None if state.holder == index else state.holder)
    return _next(state, index, charged=(*state.charged, actor.report))


def charge_unless_known_id(state: State, index: int, limit: int) -> State:
    """What version 0.1 did: a report id that the ledger knows is taken for a free retry."""
    if state.actors[index].report in state.charged:
        return _next(state, index)
    return charge(state, index, limit)


def draw(state: State, index: int, limit: int) -> State:
    """Draw fresh noise, in memory; a report that waits is taken as it is."""
    actor = state.actors[index]
    if actor.waits is not None:
        report, drawn = actor.waits
        return _next(_with(state, index, replace(actor, report=report, drawn=drawn)), index)
    fresh = state.draws + 1
    return _next(_with(state, index, replace(actor, drawn=fresh)), index, draws=fresh)


def keep(state: State, index: int, limit: int) -> State:
    """Write the report into the outbox, durably."""
    actor = state.actors[index]
    if actor.waits is not None:
        return _next(state, index)
    return _next(state, index, outbox=(*state.outbox, (actor.report, actor.drawn)))


def send(state: State, index: int, limit: int) -> State:
    """The collector receives the report."""
    actor = state.actors[index]
    return _next(state, index, received=state.received | {(actor.report, actor.drawn)})


def forget(state: State, index: int, limit: int) -> State:
    """The collector has acknowledged it: drop it from the outbox."""
    actor = state.actors[index]
    return _next(state, index, outbox=tuple(one for one in state.outbox if one != (actor.report, actor.drawn)))


TRANSACTION: list[Step] = [lock, read, refuse, charge, draw, keep, unlock, send, lock, forget, unlock]
WITHOUT_LOCK: list[Step] = [read, refuse, charge, draw, keep, send, forget]
READ_BEFORE_LOCK: list[Step] = [read, lock, refuse, charge, draw, keep, unlock, send, lock, forget, unlock]
VERSION_0_1: list[Step] = [read, refuse, draw, lock, charge_unless_known_id, unlock, keep, send, forget]
SENT_BEFORE_CHARGED: list[Step] = [lock, read, refuse, draw, keep, send, charge, unlock, lock, forget, unlock]
NOT_KEPT_AND_RETRIED: list[Step] = [lock, charge_unless_known_id, draw, unlock, send]


def broken(state: State, limit: int) -> str | None:
    """Return which promise a state breaks, or None."""
    if len({report for report, _ in state.received}) < len(state.received):
        return "one report id is behind two draws"
    if len({drawn for _, drawn in state.received}) > len(state.charged):
        return "more was sent than charged"
    if len(state.charged) > limit:
        return "more was charged than the limit"
    if len(state.charged) > 1:
        return "one round was answered twice"
    return None


def successors(protocol: list[Step], state: State, limit: int, crashes: int) -> Iterator[State]:
    """Yield every state that one step, or one crash, of one actor leads to."""
    for index, actor in enumerate(state.actors):
        if actor.step == STOPPED:
            continue
        if actor.step < len(protocol):
            after = protocol[actor.step](state, index, limit)
            if after is not None:
                yield after
        elif actor.tries > 1:  # answers again, with what the store remembers
            yield _with(state, index, Actor(actor.report, tries=actor.tries - 1))
        if state.crashes < crashes and actor.step > START:
            holder = None if state.holder == index else state.holder
            yield _with(state, index, Actor(actor.report, tries=actor.tries), holder=holder, crashes=state.crashes + 1)


@dataclass(frozen=True)
class Explored:
    """What a search found: how many states there are, and the first broken one, if any."""

    states: int
    reason: str | None
    steps: int


def explore(protocol: list[Step], reports: tuple[str, ...], *, limit: int = 1, crashes: int = 2) -> Explored:
    """Visit every state that the actors can reach; stop at the first that breaks a promise."""
    first = State(tuple(Actor(report) for report in reports))
    seen, waiting = {first}, deque([(first, 0)])
    while waiting:
        state, depth = waiting.popleft()
        reason = broken(state, limit)
        if reason is not None:
            return Explored(len(seen), reason, depth)
        for after in successors(protocol, state, limit, crashes):
            if after not in seen:
                seen.add(after)
                waiting.append((after, depth + 1))
    return Explored(len(seen), None, 0)
