"""The crawl example: what it is given without Spark, and its answers on Spark against the same questions asked of the files.

What has no final answer yet is in neither: a minute counts once the watermark, five seconds behind the latest fetch, has
passed its end. The last minute of the data never closes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamq.runtime.metrics import RunReport
from tests.examples.running import EXAMPLES, compile_file, into_memory, run_to_end

FETCHES, MINUTES = 9_000, 6
HASHES = [f"h{i}" for i in range(1, 7)]
FP = 0.01
SHARE = 0.02
LEAST_EQUAL = 4


def prepared(folder: Path) -> pd.DataFrame:
    """All fetches that ``prepare.py`` writes, in order of time, with their host, minute, and whether the URL is new."""
    script = EXAMPLES / "crawl" / "prepare.py"
    subprocess.run(
        [sys.executable, script, folder, "--minutes", str(MINUTES)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    # In order of modification, as the stream takes them.
    files = sorted((folder / "crawl").iterdir(), key=lambda file: file.stat().st_mtime)
    found = pd.DataFrame(_read_json(files))
    found["fetched"] = pd.to_datetime(found["fetched"]).dt.tz_localize(None)
    found["until"] = found["fetched"].dt.floor("min") + pd.Timedelta(minutes=1)
    found["host"] = found["url"].str.split("/").str[2]
    found["new"] = ~found["url"].duplicated()
    return found


def _read_json(files: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crawl")


@pytest.fixture(scope="module")
def fetches(folder: Path) -> pd.DataFrame:
    return prepared(folder / "data")


def test_data_are_those_of_a_crawl(fetches: pd.DataFrame) -> None:
    assert len(fetches) == FETCHES
    assert fetches["fetched"].is_monotonic_increasing
    assert fetches["until"].nunique() == MINUTES
    # Each is new with .7566 on its own: four standard errors of sqrt(.7566 * .2434 / 9,000) = .0045.
    assert abs(fetches["new"].mean() - 0.7566) < 4 * 0.0045
    pages = fetches.drop_duplicates(["url", "host", *HASHES])
    assert len(pages) == fetches["new"].sum(), "a page has one host and one title"


def test_data_are_the_same_each_time(fetches: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    pd.testing.assert_frame_equal(prepared(tmp_path), fetches)
    assert not (tmp_path / "results").exists(), "what an earlier run left is removed"


@dataclass(frozen=True)
class Finished:
    """A run of the example. ``told``: rows in files; ``minutes``: the fetches of each minute that closed, by its end."""

    report: RunReport
    told: dict[str, list[dict[str, Any]]]
    fetches: pd.DataFrame
    minutes: dict[pd.Timestamp, pd.DataFrame]

    def rows(self, query: str) -> dict[pd.Timestamp, dict[str, Any]]:
        """One row for each minute that closed, and no other."""
        told = (
            self.told[query]
            if query in self.told
            else [dict(row) for row in self.report.rows(query)]
        )
        rows = {pd.Timestamp(row["until"]).tz_localize(None): row for row in told}
        assert len(rows) == len(told)
        assert rows.keys() == self.minutes.keys()
        return rows

    @property
    def first_seen(self) -> pd.DataFrame:
        return pd.DataFrame(self.told["first_seen"])


@pytest.fixture(scope="module")
def finished(spark: SparkSession, folder: Path, fetches: pd.DataFrame) -> Finished:
    """The whole crawl, by the program as it stands."""
    shutil.copy(EXAMPLES / "crawl" / "crawl.cql", folder)
    report = run_to_end(into_memory(compile_file(folder / "crawl.cql").require()), spark)
    told = {
        query: _read_json(sorted((folder / "data" / "results" / query).glob("*.json")))
        for query in ("first_seen", "heavy_hosts")
    }
    over = fetches["fetched"].max() - pd.Timedelta(seconds=5)
    minutes = {
        pd.Timestamp(str(until)): rows for until, rows in fetches.groupby("until") if until <= over
    }
    assert len(minutes) == MINUTES - 1
    return Finished(report, told, fetches, minutes)


def test_every_fetch_is_read(finished: Finished) -> None:
    for totals in finished.report.totals:
        assert (totals.malformed, totals.late, totals.shed) == (0, 0, 0)


def test_first_seen(finished: Finished) -> None:
    told = finished.first_seen
    hosts = dict(zip(finished.fetches["url"], finished.fetches["host"], strict=True))
    assert (told["url"].map(hosts) == told["host"]).all(), "nothing is told that was not fetched"
    pages = finished.fetches["new"].sum()
    lost = pages - told["url"].nunique()
    # At most one new page in a hundred is taken for an old one; four standard deviations of their number.
    assert lost <= FP * pages + 4 * sqrt(FP * pages)
    # Nine in ten of those that come again are known where 6,728 different ones came since, and more where fewer did.
    assert told["url"].duplicated().sum() < 0.1 * (FETCHES - pages)


def test_duplicates(finished: Finished) -> None:
    again = finished.first_seen["url"].duplicated().sum()
    told = 0
    for until, row in finished.rows("duplicates").items():
        minute = finished.minutes[until]
        new = minute["new"].sum()
        assert row["fetches"] == len(minute)
        assert row["share"] == pytest.approx(1 - row["new"] / row["fetches"])
        assert new - (FP * new + 4 * sqrt(FP * new)) <= row["new"] <= new + again
        told += row["new"]
    assert told <= len(finished.first_seen)


def test_heavy_hosts(finished: Finished) -> None:
    for until, row in finished.rows("heavy_hosts").items():
        truth = finished.minutes[until]["host"].value_counts()
        found = [item["item"] for item in row["hosts"]]
        assert set(found) >= set(truth[truth >= SHARE * truth.sum()].index)
        assert all(
            item["count_lo"] <= truth[item["item"]] <= item["count_hi"] for item in row["hosts"]
        )
        assert found[0] == truth.index[0], "the busiest is far ahead of others"


def test_skew(finished: Finished) -> None:
    outside = 0
    for until, row in finished.rows("skew").items():
        counts = finished.minutes[until]["host"].value_counts()
        truth = int((counts**2).sum())
        outside += not row["same_host_lo"] <= truth <= row["same_host_hi"]
        # Its error is at most 13.27 % in 95 of 100 cases.
        assert abs(row["same_host"] / truth - 1) < 2 * 0.1327
        assert row["chance"] == pytest.approx(row["same_host"] / counts.sum() ** 2)
    # Each is outside with at most .05: more than two of five are so once in 800 runs.
    assert outside <= 2


def test_alike(finished: Finished) -> None:
    """Pages that are lost take their pairs with them, and those that are told again bring theirs once more."""
    again = finished.first_seen["url"].duplicated().sum() / finished.fetches["new"].sum()
    new = finished.rows("duplicates")
    for until, row in finished.rows("alike").items():
        assert row["pages"] == new[until]["new"], "filters of equal rows are equal"
        minute = finished.minutes[until]
        partners = _partners(minute[minute["new"]][HASHES].to_numpy())
        pairs = partners.sum() / 2
        spread = 4 * sqrt(float((partners.astype(float) ** 2).sum()))
        assert (
            pairs * (1 - 2 * FP) - spread * sqrt(FP)
            <= row["alike"]
            <= pairs * (1 + 2 * again) + spread * sqrt(again) + again * len(minute)
        )
        assert (row["alike_lo"], row["alike_hi"]) == (row["alike"], row["alike"])


def _partners(hashes: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How many other rows have four or more of the six in common with each, ``[n]``."""
    equal = sum((column[:, None] == column).astype(np.int8) for column in hashes.T)
    return np.asarray((equal >= LEAST_EQUAL).sum(axis=1) - 1, np.int64)
