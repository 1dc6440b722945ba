"""The home that Spark's programs and workers start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.runtime.spark.spark_home import spark_home


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMQ_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "pyspark"
    for name in ("bin", "jars", "sbin", "python/lib"):
        (folder / name).mkdir(parents=True)
    (folder / "jars" / "spark.jar").touch()
    return folder


def test_it_has_the_programs_and_jars_and_no_python(package: Path) -> None:
    home = spark_home(package)
    assert sorted(p.name for p in home.iterdir()) == ["bin", "jars", "sbin"]
    assert (home / "jars" / "spark.jar").is_file()
    assert spark_home(package) == home


def test_a_wrong_link_is_mended(package: Path, tmp_path: Path) -> None:
    home = spark_home(package)
    (home / "jars").unlink()
    (home / "jars").symlink_to(tmp_path)
    spark_home(package)
    assert (home / "jars" / "spark.jar").is_file()
    assert sorted(p.name for p in home.iterdir()) == ["bin", "jars", "sbin"]


def test_another_interpreter_needs_the_whole_package(package: Path, tmp_path: Path) -> None:
    assert spark_home(package, own_interpreter=False) == package
    assert spark_home(tmp_path / "elsewhere") == tmp_path / "elsewhere"
