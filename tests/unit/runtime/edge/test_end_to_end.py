"""Weather over an uplink of 60 kbit/s: what goes never exceeds it, no row is lost, and what is shed comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_source.packing import COLUMN_BYTES
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.columns import to_column
from streamq.runtime.edge.messages import Rows
from streamq.stdlib.attributes.reevaluation import Schedule
from streamq.stdlib.attributes.sizing import n_shed, n_shed_by_bytes
from streamq.stdlib.recovery.lookup import Status
from streamq.stdlib.recovery.measures import rel_error_pct
from tests.unit.runtime.edge.support import (
    COLUMNS,
    KEYS,
    Clock,
    Fed,
    Wire,
    lines_of,
    most_above,
    plan_of,
    received,
    run,
    site_of,
    weather_rows,
)

CYCLES, KBPS = 48, 60.0
COLUMN = COLUMN_BYTES / KEYS
ROW_BYTES = 8 * 8 + 5 + 4 + COLUMN * len(COLUMNS)


def weather_fed(clock: Clock, load: float) -> tuple[Fed, pa.RecordBatch]:
    """A cycle at a time, so often that the attributes, with what is said of each, are ``load`` times the capacity."""
    rows = weather_rows(CYCLES)
    lines = lines_of(rows)
    period = KEYS * ROW_BYTES * 8 / 1000 / (KBPS * load)
    blocks = [
        (clock() + (c + 1) * period, b"".join(lines[c * KEYS : (c + 1) * KEYS])) for c in range(CYCLES)
    ]
    return Fed(clock, blocks), rows


def asked_for_all(site: Site, clock: Clock, central: Central, messages: list[Rows]) -> dict[str, Answer]:
    """All values that were shed, of each attribute in the order in which they came."""
    asking = central.desks["weather"].asking
    asked = {}
    for name in {name for message in messages for name in message.plan.attrs}:
        of = [message for message in messages if name in message.plan.attrs]
        keys = pa.concat_batches([message.rows.select(list(message.key)) for message in of])
        asked[name] = asking.ask(site.store.origin, name, keys, np.concatenate([message.cycle_no for message in of]))
    run(site, clock, lambda: not asking.open(site.store.origin) and site.done)
    answers = {name: asking.answer(id_) for name, id_ in asked.items()}
    assert all(answer is not None for answer in answers.values())
    return answers


@pytest.mark.parametrize("unit", ["COUNT", "BYTES"])
@pytest.mark.parametrize("load", [1.0, 1.5, 2.5])
def test_weather_over_a_narrow_uplink(tmp_path: Path, load: float, unit: str) -> None:
    clock = Clock()
    plan = plan_of(unit=unit, reevaluation=Schedule())
    source, rows = weather_fed(clock, load)
    central = Central.of(tmp_path / "central", {"weather": plan})
    wire = Wire(central, clock)
    site = site_of(plan, source, tmp_path / "edge", wire, clock)
    run(site, clock, lambda: site.done, step=0.05)

    # Never more than the capacity and one bucket, in any stretch of time.
    assert most_above(wire.went, KBPS) <= plan.bucket
    # Nothing is far behind: what had to be shed was shed.
    assert wire.went[-1][0] - source.blocks[-1][0] < 3

    messages = received(central)
    assert sum(m.rows.num_rows for m in messages) == site.counts.rows == rows.num_rows
    assert site.counts.malformed == 0
    sent = {name: [] for name in COLUMNS}
    for message in messages:
        assert set(message.rows.schema.names) | set(message.plan.attrs) == set(COLUMNS)
        for name in message.rows.schema.names:
            sent[name].append(message.rows.column(name))
    assert pa.concat_arrays(sent["location"]).equals(rows.column("location"))

    # As many columns as the formula says of the rate of attributes, and of the capacity without what goes along.
    last = messages[-1]
    overhead = site._pipeline._overhead.per_row * site._pipeline.offered.rows_per_s * 8 / 1000
    rate = site._pipeline.offered.kbps
    assert rate == pytest.approx(KBPS * load, rel=0.03)
    if unit == "COUNT":
        wanted = n_shed(rate, KBPS - overhead, len(COLUMNS))
    else:
        widths = dict.fromkeys(COLUMNS, 8 + COLUMN) | {"location": 9 + COLUMN}
        wanted = n_shed_by_bytes(rate, KBPS - overhead, COLUMNS[1:], widths)
    assert len(last.plan.attrs) == wanted
    assert "barometer" in last.plan.attrs
    # It does not swing: what messages take beside attributes is the same whatever is shed.
    assert last.plan.plan_id < 12

    # All that was shed comes back, within its bound.
    ends = np.cumsum([m.rows.num_rows for m in messages])
    before = len(wire.went)
    answers = asked_for_all(site, clock, central, messages)
    for name, answer in answers.items():
        shed = [range(end - m.rows.num_rows, end) for m, end in zip(messages, ends, strict=True) if name in m.plan.attrs]
        original = to_column(rows.column(name).take(pa.array(np.concatenate(shed))))
        assert np.all(answer.status <= Status.APPROXIMATE)
        errors = rel_error_pct(original, to_column(answer.values))
        assert np.all(errors <= answer.max_error_pct * (1 + 1e-12))
        assert answer.max_error_pct.max() <= 4.81
        assert np.any(answer.status == Status.EXACT)
    assert len(answers) >= wanted
    assert any(np.any(answer.status == Status.APPROXIMATE) for answer in answers.values())
    assert len(wire.went) > before
    assert most_above(wire.went, KBPS) <= plan.bucket
