"""The Linear Road example: a small traffic, with the answers of the check, of the reference, and of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from examples.linear_road.check import PLACE, expected, standing
from examples.linear_road.engines import (
    Bag,
    bag_of_table,
    compiled,
    reference_answers,
    spark_answer,
)
from examples.linear_road.simulation import MILE, Plan, Traffic, simulate, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = Plan(
    minutes=12, cars=(70, 30), free_cars=(5, 3), room=16, accidents=6, breakdowns=4, trips=20,
    file_s=180,
)
ON_SPARK = ("warnings", "cleared_accidents", "balances")
"""Those that all others but two are parts of; ``make linear-road`` runs every one."""

QUERIES = (
    "statistics", "new_accidents", "cleared_accidents", "warnings", "tolls", "balances",
    "travel_times",
)


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    return simulate(SMALL)


@pytest.fixture(scope="module")
def wanted(traffic: Traffic) -> dict[str, Bag]:
    return {name: bag_of_table(table) for name, table in expected(traffic).items()}


@pytest.fixture(scope="module")
def by_definition(traffic: Traffic) -> dict[str, Bag]:
    program = compiled(Path())
    assert program.logical is not None
    return reference_answers(program.logical, traffic)


def test_equal_seeds_make_equal_traffic(traffic: Traffic) -> None:
    pd.testing.assert_frame_equal(simulate(SMALL).reports, traffic.reports)


def test_cars_report_every_half_minute_from_where_they_are(traffic: Traffic) -> None:
    reports = traffic.reports.sort_values(["car", "ts"])
    assert (reports["seg"] == reports["pos"] // MILE).all()
    assert reports["lane"].between(0, 4).all()
    gaps = reports.groupby("car")["ts"].diff().dropna().dt.total_seconds()
    assert (gaps >= 30).all()
    assert (gaps == 30).mean() > 0.9


def test_reports_arrive_out_of_order(traffic: Traffic) -> None:
    stamps = traffic.reports["ts"]
    assert not stamps.is_monotonic_increasing
    behind = (stamps.cummax() - stamps).max()
    assert pd.Timedelta(0) < behind < pd.Timedelta(seconds=10)


def test_traffic_has_what_the_benchmark_is_about(traffic: Traffic, wanted: dict[str, Bag]) -> None:
    assert set(wanted) == set(QUERIES)
    for name, bag in wanted.items():
        assert bag.total() >= 3, name
    stands = standing(traffic.reports)
    alone = stands.groupby(PLACE)["car"].nunique() == 1
    assert alone.any(), "no car has broken down on its own"


@pytest.mark.parametrize("query", QUERIES)
def test_by_definition(query: str, by_definition: dict[str, Bag], wanted: dict[str, Bag]) -> None:
    assert by_definition[query] == wanted[query]


@pytest.fixture(scope="module")
def folder(traffic: Traffic, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the traffic."""
    base = tmp_path_factory.mktemp("linear_road")
    write(traffic, base / "data")
    return base


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
def test_on_spark(name: str, folder: Path, wanted: dict[str, Bag], spark: SparkSession) -> None:
    plan = compiled(folder).require()
    query = next(q for q in plan.queries if q.name == name)
    assert spark_answer(plan, query, spark) == wanted[name]
