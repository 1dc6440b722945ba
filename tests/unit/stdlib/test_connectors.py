"""Options of connectors: what is accepted, what it becomes, and what is said about the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.dsl.codes import CODES
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type
from streamq.stdlib.connector_specs import CONNECTORS, NEXMARK, RATE, SPARK_OPTIONS
from streamq.stdlib.connectors import (
    connector_names,
    find_connector,
    match_columns,
    source_columns,
    validate_options,
)
from streamq.stdlib.nexmark import TABLES
from streamq.stdlib.notation import parse_schema
from streamq.stdlib.options import OptionValue, Problem, read_value
from streamq.stdlib.registry import ConnectorSpec, OptionSpec, OptionType


def spec_of(name: str, role: str) -> ConnectorSpec:
    spec = find_connector(name, role)
    assert spec is not None, (name, role)
    return spec


def accepted(name: str, role: str, **options: OptionValue) -> dict[str, OptionValue]:
    found, problems = validate_options(spec_of(name, role), options, role)
    assert problems == []
    return found


def refused(name: str, role: str, **options: OptionValue) -> list[Problem]:
    _, problems = validate_options(spec_of(name, role), options, role)
    assert problems
    return problems


def test_connectors_are_found_by_role_in_any_case() -> None:
    assert find_connector("FILE", "sink") is not find_connector("file", "stream")
    assert find_connector("console", "stream") is None
    assert connector_names("sink") == ("console", "file", "kafka", "postgres", "duckdb", "webhook", "delta", "iceberg", "memory", "noop")
    assert connector_names("stream") == ("file", "kafka", "edge", "rate", "nexmark", "memory")


def test_declarations_are_complete() -> None:
    for spec in CONNECTORS:
        assert spec.doc.endswith(".")
        assert "sink" not in spec.roles or spec.guarantee
        for option in spec.options:
            assert option.doc, f"{spec.name}.{option.name}"
            assert (option.type is OptionType.CHOICE) == bool(option.choices)
            if option.default is not None:
                assert read_value(option, option.default) is not None
    known = {o.name for spec in CONNECTORS for o in spec.options}
    assert set(SPARK_OPTIONS) <= known


def test_defaults_are_filled_in() -> None:
    found = accepted("file", "stream", path="data")
    assert found == {
        "path": "data",
        "format": "json",
        "multi_line": False,
        "on_error": "count",
        "recursive": False,
        "latest_first": False,
    }


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.csv", "csv"),
        ("in/*.CSV.gz", "csv"),
        ("a.tsv", "csv"),
        ("a.parquet", "parquet"),
        ("a.b/c.jsonl", "json"),
        ("a.csv/", "csv"),
        ("folder", "json"),
    ],
)
def test_the_ending_tells_the_format(path: str, kind: str) -> None:
    assert accepted("file", "table", path=path)["format"] == kind
    assert accepted("file", "table", path=path, format="Parquet")["format"] == "parquet"


def test_tabs_are_the_delimiter_of_tsv() -> None:
    assert accepted("file", "table", path="a.tsv")["delimiter"] == "\t"
    assert accepted("file", "table", path="a.tsv", delimiter=";")["delimiter"] == ";"
    assert accepted("file", "table", path="a.csv", delimiter="\\t")["delimiter"] == "\t"


def test_keys_match_in_any_spelling_and_numbers_in_quotes() -> None:
    found = accepted("file", "stream", PATH="x", maxFilesPerTrigger="100", **{"on-error": "FAIL"})
    assert found["max_files_per_trigger"] == 100
    assert found["on_error"] == "fail"
    assert accepted("rate", "stream", rows_per_second=5.0)["rows_per_second"] == 5
    assert accepted("nexmark", "stream", table="bid", connector="nexmark")["rate"] == 10_000


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("10 seconds", 10_000),
        ("10s", 10_000),
        ("1 day 2 hours", 93_600_000),
        ("INTERVAL '2' MINUTES", 120_000),
        ("0.5 s", 500),
        (3, 3_000),
        ("250 ms", 250),
    ],
)
def test_lengths_of_time_become_milliseconds(value: OptionValue, ms: int) -> None:
    assert accepted("nexmark", "stream", table="bid", shape="sine", period=value)["period"] == ms


@pytest.mark.parametrize("value", ["", "soon", "10 parsecs", "-1 s", "1 2 3 x", True, "s"])
def test_what_is_no_length_of_time(value: OptionValue) -> None:
    (problem,) = refused("nexmark", "stream", table="bid", shape="sine", period=value)
    assert problem.code == "SQ0703"
    assert problem.message.startswith("option `period` must be a length of time, not ")


@pytest.mark.parametrize(
    ("name", "role", "options", "code", "message", "help_"),
    [
        ("file", "stream", {"path": "x", "formt": "csv"}, "SQ0701",
         "unknown option `formt` of connector `file`", "did you mean `format`?"),
        ("noop", "sink", {"rows": 3}, "SQ0701", "unknown option `rows` of connector `noop`",
         "there are no options of noop"),
        ("file", "sink", {"path": "x", "max_files_per_trigger": 1}, "SQ0701",
         "unknown option `max_files_per_trigger` of connector `file`", "options of file: path, "),
        ("file", "stream", {}, "SQ0702", "connector `file` needs the option `path`",
         "add path = 'data/in'"),
        ("nexmark", "stream", {}, "SQ0702", "connector `nexmark` needs the option `table`",
         "add table = 'person', 'auction', 'bid' or 'event'"),
        ("file", "stream", {"path": 7}, "SQ0703",
         "option `path` must be a path in quotes, not 7", "write path = 'data/in'"),
        ("file", "stream", {"path": "x", "format": "jsn"}, "SQ0703",
         "option `format` must be 'json', 'csv' or 'parquet', not 'jsn'", "did you mean `json`?"),
        ("rate", "stream", {"rows_per_second": "many"}, "SQ0703",
         "option `rows_per_second` must be a whole number, not 'many'",
         "write rows_per_second = 1"),
        ("rate", "stream", {"rows_per_second": 0}, "SQ0703",
         "option `rows_per_second` must be at least 1, not 0", "write rows_per_second = 1"),
        ("rate", "stream", {"rows_per_second": 2.5}, "SQ0703",
         "option `rows_per_second` must be a whole number, not 2.5", "write rows_per_second = 1"),
        ("rate", "stream", {"rows_per_second": True}, "SQ0703",
         "option `rows_per_second` must be a whole number, not true",
         "write rows_per_second = 1"),
        ("file", "table", {"path": "x.csv", "header": "maybe"}, "SQ0703",
         "option `header` must be true or false, not 'maybe'", "write header = true"),
        ("file", "table", {"path": "x.csv", "delimiter": "||"}, "SQ0703",
         "option `delimiter` must be one character, not '||'", "write delimiter = ';'"),
        ("file", "table", {"path": "x.json", "header": True}, "SQ0701",
         "option `header` has no meaning for format 'json'",
         "leave it out, or write format = 'csv'"),
        ("file", "sink", {"path": "x", "compression": "zstd"}, "SQ0703",
         "format 'json' cannot be packed with 'zstd'", "take one of none, gzip"),
        ("file", "sink", {"path": "x", "partition_by": "a,,b"}, "SQ0703",
         "option `partition_by` must name columns, with commas between them",
         "write partition_by = 'city, day'"),
        ("nexmark", "stream", {"table": "bid", "peak_rate": 5}, "SQ0701",
         "option `peak_rate` has no meaning for shape 'constant'",
         "add shape = 'square' or 'sine'"),
        ("nexmark", "stream", {"table": "bid", "start": "noon"}, "SQ0703",
         "option `start` must be a time, not 'noon'", "write start = '2015-07-15 00:00:00'"),
    ],
)  # fmt: skip
def test_problems(
    name: str, role: str, options: dict[str, OptionValue], code: str, message: str, help_: str
) -> None:
    (problem,) = refused(name, role, **options)
    assert (problem.code, problem.message) == (code, message)
    assert problem.help.startswith(help_)
    assert problem.code in CODES
    assert problem.key in options if code != "SQ0702" else problem.key == ""


def test_all_problems_are_reported_at_once() -> None:
    problems = refused("file", "stream", pth="x", format="xml", max_files_per_trigger=-1)
    assert [p.code for p in problems] == ["SQ0701", "SQ0703", "SQ0703", "SQ0702"]


def test_an_option_given_twice() -> None:
    given: dict[str, OptionValue] = {"path": "x", "PATH": "y"}
    (problem,) = refused("file", "stream", **given)
    assert problem.message == "option `path` is given twice"


def test_limits_of_a_batch_exclude_each_other() -> None:
    (problem,) = refused(
        "file", "stream", path="x", max_files_per_trigger=1, max_bytes_per_trigger=9
    )
    assert problem.code == "SQ0703"
    assert "exclude each other" in problem.message


def test_a_start_with_a_zone_becomes_utc() -> None:
    found = accepted("nexmark", "stream", table="bid", start="2024-01-01T00:00:00+02:00")
    assert found["start"] == "2023-12-31 22:00:00"


def test_a_role_that_the_connector_lacks_is_an_internal_error() -> None:
    with pytest.raises(InternalError):
        validate_options(RATE, {}, "sink")


TEXT = st.text(max_size=12)
VALUES = st.one_of(st.booleans(), st.integers(), st.floats(), TEXT)


@given(st.dictionaries(TEXT, VALUES, max_size=4), VALUES, VALUES)
def test_whatever_is_written_gives_options_or_problems(
    options: dict[str, OptionValue], first: OptionValue, second: OptionValue
) -> None:
    for spec in CONNECTORS:
        named = [o.name for o in spec.options[:2]]
        given_ = options | dict(zip(named, (first, second), strict=False))
        for role in spec.roles:
            found, problems = validate_options(spec, given_, role)
            for problem in problems:
                assert problem.code in CODES
                assert problem.message
            if not problems:
                assert all(spec.option(name) is not None for name in found)


@given(VALUES)
def test_a_read_value_reads_as_itself(value: OptionValue) -> None:
    for kind in (OptionType.INT, OptionType.FLOAT, OptionType.BOOL, OptionType.STRING):
        option = OptionSpec(name="x", type=kind)
        read = read_value(option, value)
        if not isinstance(read, Problem):
            assert read_value(option, read) == read


# --- columns of generators -----------------------------------------------------------------------


def test_nexmark_declares_what_its_generator_makes() -> None:
    assert {name: NEXMARK.columns[name] for name in TABLES} == TABLES
    event = dict(NEXMARK.columns["event"])
    assert list(event) == ["event_type", *TABLES, "dateTime"]
    for name, columns in TABLES.items():
        fields = parse_schema(", ".join(f"{n} {t}" for n, t in columns))
        assert parse_schema(event[name]) == fields


def test_the_columns_of_a_generator() -> None:
    assert source_columns(RATE, {}) == (("value", "BIGINT"), ("timestamp", "TIMESTAMP"))
    assert source_columns(NEXMARK, {"table": "bid"})[0] == ("auction", "BIGINT")
    assert source_columns(spec_of("file", "stream"), {"path": "x"}) == ()


@pytest.mark.parametrize(
    ("spec", "options", "declared", "sources"),
    [
        (NEXMARK, {"table": "bid"}, [("PRICE", DOUBLE), ("ts", TIMESTAMP)], ("price", "dateTime")),
        (NEXMARK, {"table": "person"}, [("datetime", TIMESTAMP)], ("dateTime",)),
        (RATE, {}, [("ts", TIMESTAMP), ("value", BIGINT)], ("timestamp", "value")),
        (spec_of("file", "stream"), {"path": "x"}, [("any", STRING)], ("any",)),
    ],
)
def test_declared_columns_read_those_of_the_generator(
    spec: ConnectorSpec,
    options: dict[str, OptionValue],
    declared: list[tuple[str, Type]],
    sources: tuple[str, ...],
) -> None:
    assert match_columns(spec, options, declared) == (sources, [])


def test_columns_that_do_not_fit_the_generator() -> None:
    declared: list[tuple[str, Type]] = [("prise", BIGINT), ("auction", INT), ("x9", STRING)]
    _, problems = match_columns(NEXMARK, {"table": "bid"}, declared)
    assert [(p.code, p.key) for p in problems] == [
        ("SQ0707", "prise"), ("SQ0707", "auction"), ("SQ0707", "x9"),
    ]  # fmt: skip
    assert problems[0].help == "did you mean `price`?"
    assert problems[1].message == "column `auction` of nexmark bid is BIGINT, which is no INT"
    assert problems[1].help == "declare it as BIGINT"
    assert problems[2].help.startswith("its columns are auction, bidder, ")
