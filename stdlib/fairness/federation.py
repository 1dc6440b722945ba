"""A simulation of many overloaded nodes that host parts of many queries, to compare policies by.

Time goes in ticks. In each of them every node gets batches of its sources and of other nodes, keeps
what its policy chooses within its budget, and has processed it by the end of the tick. A *fragment*
is the part of a query on one node; it sends one batch now and then, with the weight of all that it
kept since, to the fragment after it or to the user. Costs are known exactly here, as a real node
does not know them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats, Headers, Ints, summed
from streamq.stdlib.fairness.fair import fair
from streamq.stdlib.fairness.policies import random_batches

Policy = Literal["fair", "random"]
Feedback = Literal["global", "local", "none"]

RESULT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """Where everything runs. Queries, nodes, fragments and sources are numbered from 0.

    Per fragment: its ``query``, its ``node``, the fragment that reads it (``reader``, or RESULT),
    and the tuples in each batch that it sends (``output``), once in ``period`` ticks; its ``turn``
    says by how many ticks it is ahead.
    Per source: its fragment, and a ``phase`` from 0 to 1, the part of a batch that it is ahead.
    Each sends ``rate`` batches of ``batch`` tuples per tick. Per node: ``budget``, tuples per tick.
    ``window``: the ticks over which coverage is measured.
    """

    query: Ints
    node: Ints
    reader: Ints
    output: Ints
    turn: Ints
    source: Ints
    phase: Floats
    budget: Floats
    rate: float
    batch: int
    period: int
    window: int

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return int(self.query.max()) + 1

    def batch_weights(self) -> Floats:
        """The weight of one batch of each source: those of a query sum to 1 in a window."""
        query = self.query[self.source]
        return 1 / (np.bincount(query)[query] * self.rate * self.window)

    def sent(self, tick: int) -> Ints:
        """The source of each batch that is sent in a tick."""
        before, after = (
            np.floor(self.rate * t + self.phase).astype(np.int64) for t in (tick, tick + 1)
        )
        return np.repeat(np.arange(len(self.source)), after - before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How to run a federation. Lengths are ticks.

    ``feedback``: what a fair node knows of the coverage of its queries: that over all nodes, as of
    the last report, which comes once in ``report`` ticks; or what it let in itself in the last
    window; or nothing, so that it makes equal only what it lets in in one tick.
    Coverages are taken once in ``sample`` ticks, after ``warm_up``, for ``measured``.
    """

    policy: Policy = "fair"
    feedback: Feedback = "global"
    report: int = 4
    warm_up: int = 120
    measured: int = 240
    sample: int = 4
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Batches on their way to a fragment: which, and the size and weight of each."""

    fragment: Ints
    n: Ints
    total: Floats


_NONE_WAITING = _Waiting(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


def simulate(federation: Federation, trial: Trial) -> Floats:
    """The coverage of each query (column) at each sample (row); the same for the same seed."""
    random = np.random.default_rng(trial.seed)
    weights = federation.batch_weights()
    nodes, queries = len(federation.budget), federation.queries
    results = np.zeros((federation.window, queries))
    admitted = np.zeros((federation.window if trial.feedback == "local" else 0, nodes, queries))
    known = np.zeros((nodes, queries))
    held = np.zeros(len(federation.query))
    underway = _NONE_WAITING
    samples = []
    for tick in range(trial.warm_up + trial.measured):
        arrived = _arrived(federation, federation.sent(tick), weights, underway)
        kept = _kept(federation, trial, arrived, known, random)
        held += summed(arrived.fragment[kept], arrived.total[kept], len(held))
        now, end = tick % federation.window, tick + 1
        sending = (end + federation.turn) % federation.period == 0
        underway, results[now] = _sent_on(federation, np.where(sending, held, 0.0))
        held = np.where(sending, 0.0, held)
        if trial.feedback == "local":
            place = federation.node * queries + federation.query
            there = summed(place[arrived.fragment[kept]], arrived.total[kept], nodes * queries)
            admitted[now] = there.reshape(nodes, queries)
            known = admitted.sum(axis=0)
        elif trial.feedback == "global" and end % trial.report == 0:
            known = np.broadcast_to(results.sum(axis=0), known.shape)
        if tick >= trial.warm_up and end % trial.sample == 0:
            samples.append(results.sum(axis=0))
    return np.array(samples)


def _arrived(
    federation: Federation, sources: Ints, weights: Floats, underway: _Waiting
) -> _Waiting:
    """All batches of a tick, node by node, in the order of arrival."""
    fragment = np.concatenate((underway.fragment, federation.source[sources]))
    order = np.argsort(federation.node[fragment], kind="stable")
    n = np.concatenate((underway.n, np.full(len(sources), federation.batch)))
    total = np.concatenate((underway.total, weights[sources]))
    return _Waiting(fragment[order], n[order], total[order])


def _kept(
    federation: Federation,
    trial: Trial,
    arrived: _Waiting,
    known: Floats,
    random: np.random.Generator,
) -> Ints:
    """The positions of the batches that their nodes keep."""
    node = federation.node[arrived.fragment]
    query = federation.query[arrived.fragment]
    edges = np.searchsorted(node, np.arange(len(federation.budget) + 1))
    chosen = [np.zeros(0, dtype=np.int64)]
    for i, budget in enumerate(federation.budget):
        here = slice(edges[i], edges[i + 1])
        queue = Headers(
            query[here], arrived.n[here], arrived.total[here], np.arange(edges[i], edges[i + 1])
        )
        if trial.policy == "fair":
            pending = summed(queue.query, queue.total, federation.queries)
            positions = fair(queue, budget, pending if trial.feedback == "none" else known[i])
        else:
            positions = random_batches(queue, budget, random)
        chosen.append(edges[i] + positions)
    return np.concatenate(chosen)


def _sent_on(federation: Federation, held: Floats) -> tuple[_Waiting, Floats]:
    """What fragments send to others, and the weight of the results of each query."""
    full = np.flatnonzero(held > 0)
    ends = federation.reader[full] == RESULT
    last, inner = full[ends], full[~ends]
    results = summed(federation.query[last], held[last], federation.queries)
    return _Waiting(federation.reader[inner], federation.output[inner], held[inner]), results


SOURCES = np.array([2, 2, 4])
OUTPUT = np.array([1, 1, 5])
"""Sources per fragment and tuples per batch sent: an average, a covariance, the five best of a join."""

CLUSTERS = np.array([1, 2, 4, 8])
"""How likely a fragment is placed in each of four clusters of nodes."""

TICKS_PER_SECOND = 4


def reference_federation(
    queries: int,
    fragments: tuple[int, ...],
    seed: int,
    nodes: int = 18,
    capacity: float | None = None,
    overhead: float = 0.0,
) -> Federation:
    """Queries of three kinds in turn, cut into chains of ``fragments[i % len]`` parts on different nodes.

    Ticks of 250 ms, windows of 10 s; each source sends 3 batches of 50 tuples a second, each
    fragment one batch. ``capacity``: tuples per second of a node; a third of what it would take to
    process all, if not given. ``overhead``: tuples per tick that each fragment costs its node.
    """
    random = np.random.default_rng(seed)
    parts = np.resize(fragments, queries)
    query = np.repeat(np.arange(queries), parts)
    last = np.cumsum(parts) - 1
    place = np.arange(len(query)) - np.repeat(last + 1 - parts, parts)
    reader = np.arange(1, len(query) + 1)
    reader[last] = RESULT
    kind = query % len(SOURCES)
    source = np.repeat(np.arange(len(query)), SOURCES[kind])
    rate, batch = 0.75, 50
    if capacity is None:
        capacity = len(source) * rate * batch * TICKS_PER_SECOND / nodes / 3
    node = _places(random, queries, nodes)[query, place]
    hosted = np.bincount(node, minlength=nodes).astype(np.float64)
    return Federation(
        query=query,
        node=node,
        reader=reader,
        output=OUTPUT[kind],
        turn=random.integers(0, TICKS_PER_SECOND, len(query)),
        source=source,
        phase=random.random(len(source)),
        budget=capacity / TICKS_PER_SECOND - overhead * hosted,
        rate=rate,
        batch=batch,
        period=TICKS_PER_SECOND,
        window=10 * TICKS_PER_SECOND,
    )


def _places(random: np.random.Generator, queries: int, nodes: int) -> Ints:
    """For each query all nodes in a random order, in which likelier ones tend to come first."""
    clusters = np.array_split(np.arange(nodes), len(CLUSTERS))
    weight = np.concatenate(
        [np.full(len(c), w / len(c)) for w, c in zip(CLUSTERS, clusters, strict=True)]
    )
    # The order of exponential waiting times is drawing one by one without putting back.
    return np.argsort(random.exponential(size=(queries, nodes)) / weight, axis=1)
