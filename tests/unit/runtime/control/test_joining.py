"""What the buckets of a join that selects tell, put together and kept for whoever asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.control.joining import JOINED, Joins, Learned, stored
from streamq.runtime.metrics import Selected, SelectedWindow
from streamq.runtime.report.joined import charts, table, words

PROGRAM = """
CREATE STREAM a (n BIGINT, k INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');
CREATE STREAM b (n BIGINT, k INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');
CREATE QUERY sheds AS SELECT ISTREAM(a.n) FROM a [RANGE 2 SECONDS] JOIN b [RANGE 2 SECONDS] ON a.k < b.k
  SHED JOIN BASIC WINDOW 1 SECOND BY 50 PERCENT;
CREATE QUERY exact AS SELECT ISTREAM(a.n) FROM a [RANGE 2 SECONDS] JOIN b [RANGE 2 SECONDS] ON a.k < b.k;
"""


def telling(bucket: int, matches: list[float], found: list[int], frac: float = 0.5) -> str:
    window = {"matches": matches, "compared": [100.0] * len(matches), "order": [0, 1, 2], "found": found}
    return json.dumps({"bucket": bucket, "frac": frac, "frac_dir": [frac, 0.0], "windows": [window, window]})


def test_counts_of_all_buckets_add_up_and_of_each_the_latest_is_known(tmp_path: Path) -> None:
    learned = Learned("q", tmp_path, 1.0)
    assert learned.selected() is None
    learned.after([telling(0, [1, 2, 3], [4, 5, 6]), telling(1, [3, 2, 1], [1, 1, 1], 0.3)])
    learned.after([telling(0, [5, 2, 3], [1, 0, 0])])
    one = learned.selected()
    assert one is not None
    assert one.windows[0].match_p == (8 / 200, 4 / 200, 4 / 200)
    assert one.windows[0].found == (6, 6, 7)
    assert one.frac == one.windows[0].frac == 0.4
    assert one.windows[1].frac == 0.0
    assert stored(tmp_path, "q") == one


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"frac": 1, "bw_s": 1, "windows": []}', '{"frac": "x", "bw_s": 1, "windows": [1, 2]}'])
def test_a_file_that_is_something_else_says_nothing(tmp_path: Path, text: str) -> None:
    assert stored(tmp_path, "q") is None
    (tmp_path / JOINED).write_text(text)
    assert stored(tmp_path, "q") is None


def test_of_a_run_those_joins_tell_that_select(tmp_path: Path) -> None:
    joins = Joins()
    for query in compile_program(PROGRAM).require().queries:
        joins.join(query, tmp_path / query.name)
    joins.after("exact", [telling(0, [1, 1, 1], [1, 1, 1])])
    assert joins.told() == ()
    joins.after("sheds", [])
    assert joins.told() == ()
    # There is no folder to write to, which is no reason to forget.
    joins.after("sheds", [telling(0, [1, 1, 1], [1, 1, 1])])
    (one,) = joins.told()
    assert (one.query, one.bw_s, one.windows[0].found) == ("sheds", 1.0, (1, 1, 1))


def test_a_run_goes_on_counting_where_the_one_before_it_ended(tmp_path: Path) -> None:
    (tmp_path / "sheds").mkdir()
    query = compile_program(PROGRAM).require().queries[0]
    for run in (1, 2):
        joins = Joins()
        joins.join(query, tmp_path / "sheds")
        joins.after("sheds", [telling(0, [1, 1, 1], [1, 2, 3])])
        assert joins.told()[0].windows[0].found == (run, 2 * run, 3 * run)


ONE = Selected("q", 0.25, 5.0, (SelectedWindow(0.5, (0.001, 0.0, 0.1), (10, 0, 90)), SelectedWindow(0.0, (0.0, 0.0, 0.0), (0, 0, 0))))


def test_the_words_say_at_which_age_most_pairs_were_found() -> None:
    assert words(ONE) == (
        "join of q: compared at last 50.0% of the left window (most pairs with rows about 10 s old) and 0.0% of the right window"
    )


def test_the_table_has_a_bar_for_each_basic_window() -> None:
    lines = table(ONE).splitlines()
    assert lines[0] == "  left window: 50.0% of it compared at last, 100 pairs"
    assert [line.split()[0] for line in lines[2:5]] == ["newest", "5", "10"]
    assert [line.count("█") for line in lines] == [0, 0, 4, 0, 40, 0, 0, 0, 0, 0]
    assert "100" in lines[4]


def test_the_charts_draw_what_is_learned_and_what_was_found() -> None:
    drawn = charts(ONE)
    assert drawn.count("<svg") == 4
    assert "Partners in the left window by their age" in drawn
