"""The changes of programs of which ``docs/evolution.md`` tells what they mean."""

from __future__ import annotations

from streamq.compiler.evolution.verdict import NEW_CHECKPOINT, STATE_LOST
from tests.support.evolution import PRELUDE, SEAM, Case

COUNTS = "SELECT k, WINDOW_END, COUNT(*) AS n, SUM(x) AS total FROM s [TUMBLE 10 SECONDS] WHERE x > 0 GROUP BY k"
ROWS = "SELECT k, x FROM s WHERE x > 0"
BOTH = "SELECT k, x FROM s UNION ALL SELECT k, y FROM r"
PAIRS = "SELECT ISTREAM(s.k, s.x, r.y) FROM s [RANGE 10 SECONDS] s JOIN r [RANGE 10 SECONDS] r ON s.k = r.k"
NAMED = "SELECT s.k, t.name FROM s JOIN t ON s.k = t.k"
MOVING = "SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k"
SESSIONS = "SELECT k, COUNT(*) AS n FROM s [SESSION 5 SECONDS PARTITION BY k] GROUP BY k"
PLAIN = "SELECT k, WINDOW_END, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k"
SHEDS = f"{PLAIN} SHED RANDOM BY 0 PERCENT"
SUMS = PLAIN.replace("COUNT(*) AS n", "SUM(x) AS total, AVG(x) AS mean")
SUMS_SHED = f"{SUMS} QOS LATENCY 60 SECONDS SHED RANDOM"
GOAL = f"{PLAIN} QOS LATENCY 60 SECONDS"
ONCE = "SELECT DISTINCT k FROM s [TUMBLE 10 SECONDS]"

CASES = (
    Case("comments and format", COUNTS, COUNTS.replace(" FROM", "\n  -- rows of s\n  FROM")),
    Case("a column of the result renamed", COUNTS, COUNTS.replace("AS n", "AS m")),
    Case("a view put in place of a part", COUNTS,
         f"CREATE VIEW v AS SELECT k AS key, x AS worth, ts FROM s WHERE x > 0; CREATE QUERY q AS {COUNTS};"
         .replace("FROM s [TUMBLE 10 SECONDS] WHERE x > 0 GROUP BY k", "FROM v [TUMBLE 10 SECONDS] GROUP BY key")
         .replace("SELECT k, WINDOW_END", "SELECT key AS k, WINDOW_END").replace("SUM(x)", "SUM(worth)")),
    Case("WHERE before an aggregate", COUNTS, COUNTS.replace("x > 0", "x > 2"),
         COUNTS.replace("x > 0", f"(x > 2 OR ts < {SEAM})")),
    Case("HAVING added", COUNTS, f"{COUNTS} HAVING COUNT(*) > 2", f"{COUNTS} HAVING COUNT(*) > 2 OR WINDOW_END < {SEAM}"),
    Case("a result worked out in another way", COUNTS, COUNTS.replace("SUM(x)", "SUM(x) * 10"),
         COUNTS.replace("SUM(x)", f"CASE WHEN WINDOW_END < {SEAM} THEN SUM(x) ELSE SUM(x) * 10 END")),
    Case("an aggregate added", COUNTS, COUNTS.replace("SUM(x) AS total", "SUM(x) AS total, MAX(x) AS most"), given=NEW_CHECKPOINT),
    Case("an aggregate removed", COUNTS, COUNTS.replace(", SUM(x) AS total", ""), given=NEW_CHECKPOINT),
    Case("aggregates in another order", COUNTS, COUNTS.replace("COUNT(*) AS n, SUM(x) AS total", "SUM(x) AS total, COUNT(*) AS n"),
         given=NEW_CHECKPOINT),
    Case("an aggregate of something else", COUNTS, COUNTS.replace("SUM(x)", "SUM(x * 10)"), given=NEW_CHECKPOINT),
    Case("a longer window", COUNTS, COUNTS.replace("10 SECONDS", "20 SECONDS"), given=NEW_CHECKPOINT),
    Case("SLIDE changed", COUNTS, COUNTS.replace("TUMBLE 10 SECONDS", "RANGE 10 SECONDS SLIDE 5 SECONDS"), given=NEW_CHECKPOINT),
    Case("GROUP BY another column of the type", COUNTS, COUNTS.replace("GROUP BY k", "GROUP BY x").replace("SELECT k", "SELECT x"),
         given=NEW_CHECKPOINT),
    Case("the type of a key", COUNTS, (PRELUDE + f"CREATE QUERY q AS {COUNTS};").replace("s (k INT", "s (k BIGINT"), given=NEW_CHECKPOINT),
    Case("GROUP BY one column more", COUNTS, COUNTS.replace("GROUP BY k", "GROUP BY k, x"), given=NEW_CHECKPOINT),
    Case("the delay of the watermark", COUNTS,
         (PRELUDE + f"CREATE QUERY q AS {COUNTS};").replace("WATERMARK FOR ts)", "WATERMARK FOR ts AS ts - INTERVAL 3 SECONDS)")),
    Case("how fast files are read", COUNTS,
         (PRELUDE + f"CREATE QUERY q AS {COUNTS};").replace("path = 's',", "path = 's', max_files_per_trigger = 5,")),
    Case("shuffle partitions", COUNTS, f"{PRELUDE}SET shuffle_partitions = 3; CREATE QUERY q AS {COUNTS};"),
    Case("the path of a source", COUNTS, (PRELUDE + f"CREATE QUERY q AS {COUNTS};").replace("path = 's'", "path = 's_moved'"),
         given=NEW_CHECKPOINT),
    Case("a stream renamed", COUNTS,
         (PRELUDE + f"CREATE QUERY q AS {COUNTS};").replace("STREAM s ", "STREAM events ").replace("FROM s ", "FROM events ")
         .replace("FROM s", "FROM events"), COUNTS),
    Case("a query renamed", COUNTS, f"CREATE QUERY other AS {COUNTS};", given=STATE_LOST),
    Case("an arm of a UNION before an aggregate", COUNTS,
         "SELECT k, WINDOW_END, COUNT(*) AS n, SUM(x) AS total FROM (SELECT k, x, ts FROM s UNION ALL SELECT k, y, ts FROM r) "
         "[TUMBLE 10 SECONDS] WHERE x > 0 GROUP BY k", given=NEW_CHECKPOINT),
    Case("DISTINCT of all groups", COUNTS, COUNTS.replace("SELECT k", "SELECT DISTINCT k")),
    Case("DISTINCT of a part of the groups", COUNTS, COUNTS.replace("SELECT k, WINDOW_END,", "SELECT DISTINCT"), given=NEW_CHECKPOINT),
    Case("the aggregate taken away", COUNTS, ROWS, given=STATE_LOST),
    Case("WHERE of a query without state", ROWS, ROWS.replace("x > 0", "x > 2"), ROWS.replace("x > 0", f"(x > 2 OR ts < {SEAM})")),
    Case("a column added to a query without state", ROWS, ROWS.replace("k, x", "k, x, x * 2 AS y"),
         ROWS.replace("k, x", f"k, x, CASE WHEN ts >= {SEAM} THEN x * 2 END AS y")),
    Case("an aggregate put on a query without state", ROWS, COUNTS, given=NEW_CHECKPOINT),
    Case("an arm added to a UNION", ROWS.replace(" WHERE x > 0", ""), BOTH),
    Case("an arm of a UNION removed", BOTH, "SELECT k, x FROM s", BOTH + f" WHERE ts < {SEAM}"),
    Case("arms of a UNION in another order", BOTH, "SELECT k, y FROM r UNION ALL SELECT k, x FROM s", BOTH),
    Case("a stream of a query without state renamed", ROWS,
         (PRELUDE + f"CREATE QUERY q AS {ROWS};").replace("STREAM s ", "STREAM events ").replace("FROM s", "FROM events"),
         ROWS, given=NEW_CHECKPOINT),
    Case("the condition of a join", PAIRS, PAIRS.replace("s.k = r.k", "s.x = r.k"), given=NEW_CHECKPOINT),
    Case("a column of a join's side added", PAIRS.replace("s.k, s.x, r.y", "s.k, r.y"), PAIRS, given=NEW_CHECKPOINT),
    Case("a longer window of a join", PAIRS, PAIRS.replace("10 SECONDS", "14 SECONDS"), given=NEW_CHECKPOINT),
    Case("the sides of a join swapped", PAIRS,
         "SELECT ISTREAM(s.k, s.x, r.y) FROM r [RANGE 10 SECONDS] r JOIN s [RANGE 10 SECONDS] s ON s.k = r.k", given=NEW_CHECKPOINT),
    Case("WHERE before a join", PAIRS, f"{PAIRS} WHERE r.y < 40", f"{PAIRS} WHERE r.y < 40 OR r.ts < {SEAM}"),
    Case("the file of a table", NAMED, (PRELUDE + f"CREATE QUERY q AS {NAMED};").replace("path = 't'", "path = 't2'"),
         f"SELECT s.k, CASE WHEN s.ts < {SEAM} THEN t.name ELSE REPLACE(t.name, 'old', 'new') END AS name FROM s JOIN t ON s.k = t.k"),
    Case("a result of a moving window renamed", MOVING, MOVING.replace("AS n", "AS m")),
    Case("a longer moving window", MOVING, MOVING.replace("10 SECONDS", "20 SECONDS"), given=NEW_CHECKPOINT),
    Case("an aggregate of a moving window added", MOVING, MOVING.replace("AS n", "AS n, SUM(x) AS total"), given=NEW_CHECKPOINT),
    Case("the gap of sessions", SESSIONS, SESSIONS.replace("5 SECONDS", "2 SECONDS"), given=NEW_CHECKPOINT),
    Case("DISTINCT of another column", ONCE, ONCE.replace("DISTINCT k", "DISTINCT x"), given=NEW_CHECKPOINT),
    Case("RECOVER ESTIMATE added", SHEDS, f"{SHEDS} RECOVER ESTIMATE", columns=3),
    Case("RECOVER ESTIMATE removed", f"{SHEDS} RECOVER ESTIMATE", SHEDS, columns=3),
    Case("RECOVER ESTIMATE of sums and means added", SUMS_SHED, f"{SUMS_SHED} RECOVER ESTIMATE", SUMS_SHED, columns=3),
    Case("the confidence of estimates", f"{SHEDS} RECOVER ESTIMATE", f"{SHEDS} RECOVER ESTIMATE CONFIDENCE 0.99", columns=3),
    Case("a share of SHED RANDOM by a goal", SHEDS, f"{GOAL} SHED RANDOM"),
    Case("a goal of QOS LATENCY", GOAL, GOAL.replace("60", "30")),
    Case("SHED BY UTILITY for SHED RANDOM", f"{GOAL} SHED RANDOM", f"{GOAL} UTILITY x SHED BY UTILITY"),
    Case("SHED OLDER THAN for SHED RANDOM", f"{GOAL} SHED RANDOM", f"{GOAL} SHED OLDER THAN 1 HOUR"),
    Case("SHED RANDOM for SHED WINDOWS", f"{GOAL} SHED WINDOWS", f"{GOAL} SHED RANDOM"),
    Case("SHED SIFTER for SHED RANDOM", f"{GOAL} SHED RANDOM", f"{GOAL} SHED SIFTER ON (x)"),
    Case("COMPLETENESS added", GOAL, GOAL.replace("COUNT(*) AS n", "COUNT(*) AS n, COMPLETENESS() AS whole"), given=NEW_CHECKPOINT),
    Case("a first policy of a query with an aggregate", PLAIN, SHEDS, given=NEW_CHECKPOINT),
    Case("a first policy of a query without state", ROWS, f"{ROWS} QOS LATENCY 60 SECONDS SHED RANDOM"),
    Case("SHED NONE for SHED RANDOM", SHEDS, f"{PLAIN} SHED NONE", given=NEW_CHECKPOINT),
)
