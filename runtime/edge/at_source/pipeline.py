"""What an edge does with rows: whole cycles, what is shed of them, what is retained of that, and the messages of the rest.

Cycles that come together are decided on together: the first is ranked, and the others, which come in the same moment,
would not be evaluated again (Ahuja 2006, Algorithm 2). Nothing here has an effect: a step gives what is to be written
down, and messages go only after that, so that values are retained before the rows without them are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.packing import Overhead, packed
from streamq.runtime.edge.at_source.progress import Progress
from streamq.runtime.edge.at_source.sifting import Sifting, room_for, share_kept, sifted
from streamq.runtime.edge.at_source.source import Position
from streamq.runtime.edge.at_source.taken import MESSAGES
from streamq.runtime.edge.at_source.training import Learned, is_enough, learned
from streamq.runtime.edge.at_source.windowing import joined, whole_cycles
from streamq.runtime.edge.columns import for_ranking, keepable, to_column
from streamq.runtime.edge.keying import coded_keys, key_columns, keys_of, numbered
from streamq.runtime.edge.messages import Rows
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.stdlib.attributes.columns import Array, Columns, Ints
from streamq.stdlib.attributes.intra_stream import (
    Decision,
    Shedding,
    State,
    Window,
    decided,
)
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.attributes.reevaluation import Schedule, started
from streamq.stdlib.attributes.shed_plan import ShedPlan
from streamq.stdlib.recovery.columns import Bools
from streamq.stdlib.recovery.keys import UNKNOWN
from streamq.stdlib.recovery.retaining import Batch, Entries, Rule, retain
from streamq.stdlib.recovery.synopsis import MOST_KEYS

RANKED_CYCLES = 8
"""The cycles that are ranked where each key is ranked by itself."""

KEYS_OF_A_CYCLE, LEAST_KEYS = 16, 1 << 16
"""Keys that a stream has at most, for each row of a cycle, and at least: what has more comes in no cycle."""

SPARE_OF_ANSWERS, SPARE_OF_OFFERED = Fraction(1, 4), Fraction(1, 32)
"""While there are answers, fewer columns are shed again only if these parts of what answers take and of what is offered are left:
both differ from second to second, and the first answers about a column that is shed again have all of its values.
"""

LEAST_SHARE = Fraction(1, 10)
"""The part of the capacity that is for rows, whatever answers take."""


@dataclass(frozen=True, slots=True)
class Step:
    """What came of some rows: where the edge is now, entries of the synopsis with their rules, and messages, in order.

    ``decision``: on these rows; None where there was no whole cycle. ``plan``: the one to go by from now on, where errors were
    found, and ``exact`` of which attributes none was. Without both nothing has to be written down. ``unkept``: rows
    that no synopsis can keep, which count as malformed, as those of more keys than a cycle can have; ``too_wide``: rows
    that alone do not fit in a bucket; ``dropped``: rows that were sifted out.
    """

    progress: Progress
    entries: Mapping[str, Entries]
    rules: Mapping[str, Rule]
    messages: tuple[bytes, ...] = ()
    decision: Decision | None = None
    rows: int = 0
    unkept: int = 0
    too_wide: int = 0
    dropped: int = 0
    plan: EdgePlan | None = None
    exact: tuple[str, ...] = ()


@dataclass(slots=True)
class Pipeline:
    """``plan``: what is asked; ``origin``: of the store; ``offered``: how fast rows come; ``extra``: bytes that the transport
    adds to each message; ``answers_kbps``: what answers take of the capacity, which is not there for rows, by attribute, as
    ``Taken`` has it. ``patient``: rows may wait for the wire as long as they have to, and so nothing is shed that somebody reads.
    """

    plan: EdgePlan
    origin: bytes
    offered: Offered
    extra: int = 0
    answers_kbps: Mapping[str, float] = field(default_factory=dict)
    patient: bool = False
    _overhead: Overhead | None = None
    _recent: pa.RecordBatch | None = None

    def after(
        self, progress: Progress, rows: pa.RecordBatch, position: Position, now_s: float, all_of_it: bool = False
    ) -> Step:
        """The step that rows, read up to a position, make. ``all_of_it``: what is no whole cycle is not waited for.

        BadPlan where no cycle is found in the training rows; ValueError for what retention cannot take.
        """
        rows, unkept = keepable(rows, progress.cycle.key if progress.cycle else self.plan.cycle.key, anything(self.plan, progress))
        if rows.num_rows:
            length = progress.cycle.length if progress.cycle else max(self.plan.cycle.length, 1)
            overhead = self._overhead or Overhead.guessed(length, self.extra)
            read = [rows.column(name) for name in self.plan.read]
            size = sum(array.nbytes for array in read) + overhead.per_column * len(read) * rows.num_rows
            self.offered = self.offered.after(now_s, rows.num_rows, round(size))
        before, found = progress, None
        if progress.cycle is None:
            progress, rows, found = self._trained(progress, rows, all_of_it)
            if found is not None:
                rows, lost = keepable(rows, found.cycle.key, rows.schema.names)
                unkept += lost
        if progress.cycle is None:
            whole, rest = rows.slice(0, 0), rows
        elif all_of_it:
            whole, rest = whole_cycles(progress.carried, rows, 1)
        else:
            whole, rest = whole_cycles(progress.carried, rows, progress.cycle.length)
        waits = before.since_s if before.carried is not None and before.carried.num_rows and not whole.num_rows else now_s
        progress = replace(progress, position=position, carried=rest, since_s=waits)
        if whole.num_rows or (all_of_it and progress.untold):
            step = self._step(progress, whole, now_s, all_of_it)
        else:
            step = Step(progress, {}, {})
        if found is not None and found.errors:
            step = replace(step, plan=self.plan, exact=found.exact)
        return replace(step, unkept=step.unkept + unkept)

    def _trained(
        self, progress: Progress, rows: pa.RecordBatch, all_of_it: bool
    ) -> tuple[Progress, pa.RecordBatch, Learned | None]:
        """What the first rows tell, once there are enough, which the plan has then; all of them are still to be sent."""
        if progress.carried is not None and progress.carried.num_rows:
            rows = joined([progress.carried, rows])
        progress = replace(progress, carried=None)
        if not rows.num_rows or not (all_of_it or is_enough(self.plan, rows)):
            return progress, rows, None
        found = learned(self.plan, rows)
        self.plan = replace(self.plan, errors={**self.plan.errors, **found.errors})
        return replace(progress, cycle=found.cycle, keys=keys_of(found.cycle.key)), rows, found

    def _step(self, progress: Progress, rows: pa.RecordBatch, now_s: float, all_of_it: bool) -> Step:
        """Of whole cycles; of no rows at all where there are dropped ones to tell of."""
        assert progress.cycle is not None
        assert progress.keys is not None
        cycle = progress.cycle
        most = min(MOST_KEYS, max(KEYS_OF_A_CYCLE * cycle.length, LEAST_KEYS))
        keys, codes = coded_keys(progress.keys, key_columns(rows, cycle.key), most)
        unknown = int(np.count_nonzero(codes == UNKNOWN))
        if unknown:
            rows, codes = rows.filter(pa.array(codes != UNKNOWN)), codes[codes != UNKNOWN]
        cycle_no = numbered(codes, progress.retained.cycle_no, len(keys), progress.base)
        decision, state = self._decided(progress, rows, codes, now_s)
        shed = (*decision.plan.attrs, *sorted(self.plan.unread - set(cycle.key)))
        rules = {name: self.plan.rule(name) for name in shed if self.plan.retains(name)}
        at = np.full(len(codes), round(now_s * 1000), dtype=np.int64)
        batch = Batch(codes, {name: to_column(rows.column(name)) for name in rules}, cycle_no, at)
        retained, entries = retain(progress.retained, batch, rules)
        sent = rows.select([name for name in rows.schema.names if name not in shed])
        sifting, room = progress.sifting, 0.0
        if self.plan.sift is not None and rows.num_rows:
            stay, sifting, room = self._sifted(self.plan.sift, sifting or Sifting(), rows, sent, now_s)
            sent, cycle_no = sent.filter(pa.array(stay)), cycle_no[stay]
        dropped = rows.num_rows - len(cycle_no)
        message = Rows(
            self.plan.stream, self.origin, progress.seq + 1, replace(decision.plan, attrs=shed), cycle.key, sent, cycle_no,
            self.offered.kbps_at(now_s), progress.untold + dropped,
        )
        most = self.plan.bucket - self.extra
        messages: tuple[bytes, ...] = ()
        too_wide = 0
        if len(cycle_no) or all_of_it:
            messages, too_wide = packed(message, self.plan.schema, self.plan.revision, most)
        if messages and rows.num_rows:
            self._overhead = Overhead.of(rows.num_rows, sent, messages, self.extra)
        if sifting is not None and self.plan.sift is not None:
            size = sum(map(len, messages)) + self.extra * len(messages)
            sifting = replace(sifting.after_sending(size, room, self.plan.bucket), offered=self.offered)
        after = replace(
            progress, windows=progress.windows + max(rows.num_rows // cycle.length, 1), shedding=state,
            seq=progress.seq + len(messages), retained=retained, keys=keys, sifting=sifting,
            untold=0 if messages else message.dropped,
        )
        return Step(after, entries, rules, messages, decision, rows.num_rows, unknown, too_wide, dropped)

    def _sifted(
        self, rule: SiftRule, state: Sifting, rows: pa.RecordBatch, sent: pa.RecordBatch, now_s: float
    ) -> tuple[Bools, Sifting, float]:
        """Which rows stay, the state after them, and the bytes that there is room for. ``sent``: what would be sent of all."""
        room = room_for(float(self._for_rows(Fraction(sum(self.answers_kbps.values())))), rows.num_rows, self.offered.at(now_s).rows_per_s)
        keep = 1.0 if self.patient else share_kept(sent, state.above, room, self.plan.bucket, self.extra)
        return *sifted(rule, state, rows, keep), room

    def _decided(self, progress: Progress, rows: pa.RecordBatch, codes: Ints, now_s: float) -> tuple[Decision, State]:
        """What is shed of rows. What goes along with each message is of the capacity, and nothing of it can be shed."""
        cycle = progress.cycle
        assert cycle is not None
        rows = rows.select(self.plan.read)
        first = rows.slice(0, cycle.length)
        ranked_by, keys = self._ranked_by(rows, first, cycle.key)
        overhead = self._overhead or Overhead.guessed(cycle.length, self.extra)
        widths = {
            name: array.nbytes / max(rows.num_rows, 1) + overhead.per_column
            for name, array in zip(rows.schema.names, rows.columns, strict=True)
        }
        rest = Fraction(overhead.per_row * self.offered.rows_per_s * 8 / 1000)
        window = Window(_arrays(first), progress.windows + 1, self.offered.kbps, ranked_by, keys)
        ranking = self._ranking(cycle.key)
        if self.patient or self.plan.sift is not None or ranking.protect >= set(self.plan.read):
            return nothing_shed(window, progress.shedding, self.plan.reevaluation, now_s)

        def decision(state: State | None, answered: tuple[str, ...]) -> tuple[Decision, State]:
            taken = sum((Fraction(self.answers_kbps.get(name, 0.0)) for name in (MESSAGES, *answered)), Fraction(0))
            spare = taken * SPARE_OF_ANSWERS + Fraction(window.offered) * SPARE_OF_OFFERED if taken else 0
            shedding = Shedding(
                ranking=ranking, schedule=self.plan.reevaluation, unit=self.plan.unit, spare=spare,
                attr_bytes=widths, determined=frozenset(cycle.determined), overflow="TUPLES",
            )
            return decided(window, max(self._for_rows(taken) - rest, Fraction(0)), now_s, state, shedding)

        before = progress.shedding
        shed = 0 if before is None else len(before.plan.attrs)
        found = decision(before, () if before is None else before.plan.attrs)
        if before is None or not 0 < shed <= len(found[1].plan.attrs):
            return found
        # Without the answers about the last one the others may be enough.
        state = found[1] if len(found[1].plan.attrs) == shed else before
        fewer = decision(state, state.plan.attrs[:-1])
        return fewer if len(fewer[1].plan.attrs) < shed else found

    def _for_rows(self, taken: Fraction) -> Fraction:
        """The capacity that answers leave, which take ``taken`` of it, in kbit/s."""
        whole = Fraction(self.plan.capacity_kbps)
        used = whole * Fraction(self.plan.utilisation)
        return max(used - taken, min(used, whole * LEAST_SHARE))

    def _ranked_by(
        self, rows: pa.RecordBatch, first: pa.RecordBatch, key: tuple[str, ...]
    ) -> tuple[Columns | None, Ints | None]:
        """The last cycles with their keys, for ranking by key. They are not written down: after a restart there are fewer."""
        if self.plan.ranking.scope != "PER_KEY":
            return None, None
        recent = first if self._recent is None else joined([self._recent, first])
        both = rows if self._recent is None else joined([self._recent, rows])
        self._recent = both.slice(max(both.num_rows - RANKED_CYCLES * first.num_rows, 0))
        _, codes = coded_keys(keys_of(key), key_columns(recent, key))
        return _arrays(recent), codes

    def _ranking(self, key: tuple[str, ...]) -> Ranking:
        """The ranking of columns that are read."""
        asked, read = self.plan.ranking, frozenset(self.plan.read)
        scale = {name: by for name, by in asked.scale.items() if name in read}
        return replace(asked, protect=(self.plan.kept | set(key)) & read, clock=asked.clock & read, scale=scale)



def fit_to(progress: Progress, plan: EdgePlan) -> tuple[Progress, int]:
    """With the rows that are carried and can be kept by another plan, and how many cannot."""
    if progress.carried is None or not progress.carried.num_rows:
        return progress, 0
    key = progress.cycle.key if progress.cycle else plan.cycle.key
    rows, lost = keepable(progress.carried, key, anything(plan, progress))
    return (replace(progress, carried=rows), lost) if lost else (progress, 0)


def anything(plan: EdgePlan, progress: Progress) -> frozenset[str]:
    """Columns whose values may be anything, as no synopsis keeps them: not those of a key that is still to be found."""
    if plan.sift is not None:
        return frozenset(plan.columns)
    nowhere = frozenset(name for name in plan.unread if not plan.retains(name))
    if progress.cycle is None and plan.cycle.auto:
        return nowhere
    texts = {name for name, type_ in plan.columns.items() if type_ == "string" and name not in plan.unread}
    return plan.kept | nowhere | (texts if plan.ranking.text == "PROTECT" else frozenset())


def looked_at_again(progress: Progress, plan: EdgePlan) -> Progress:
    """With what is shed looked at with the next rows, by another plan of the same stream; so is what is sifted."""
    if progress.sifting is not None and plan.sift is not None:
        progress = replace(progress, sifting=progress.sifting.fits(plan.sift))
    state = progress.shedding
    if state is None:
        return progress
    due = replace(state.reevaluation, schedule=plan.reevaluation, interval_s=0.0)
    return replace(progress, shedding=replace(state, reevaluation=due))


def nothing_shed(window: Window, state: State | None, schedule: Schedule, now_s: float) -> tuple[Decision, State]:
    """The decision where no column that is read may be shed."""
    before = ShedPlan() if state is None else state.plan
    plan, offered = before.changed_to((), window.cycle_no), Fraction(window.offered)
    after = State(plan, started(schedule, (), now_s), (), tuple(window.columns))
    return Decision(plan, None, plan is not before, offered, offered, Fraction(0)), after


def _arrays(rows: pa.RecordBatch) -> dict[str, Array]:
    return {name: for_ranking(array) for name, array in zip(rows.schema.names, rows.columns, strict=True)}
