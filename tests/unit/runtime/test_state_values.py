"""Values of a state have the names of the aggregates that they belong to."""

from __future__ import annotations

from streamq.runtime.state_values import value_names

SUM, AVG = "sum(`s.ms INT`)", "avg(`s.ms INT`)"


def test_each_value_has_the_name_of_its_aggregate() -> None:
    aggregates = (SUM, "sum((`s.ms INT` * 1000))", "count(1)", AVG, "max(`s.at TIMESTAMP`)")
    assert value_names(aggregates, ("sum", "sum", "count", "sum", "count", "max")) == (
        "sum(s.ms)", "sum((s.ms * 1000))", "count(1)", "avg(s.ms).sum", "avg(s.ms).count", "max(s.at)",
    )


def test_decimals_are_two_values() -> None:
    names = value_names(("sum(`s.d DECIMAL(10,2)`)", "count(1)"), ("sum", "isEmpty", "count"))
    assert names == ("sum(s.d).sum", "sum(s.d).isEmpty", "count(1)")


def test_what_is_kept_for_estimates_is_told_so() -> None:
    names = value_names(("count(1)", "sum(__weight)", "sum(1.0D) FILTER (WHERE x)"), ("count", "sum", "sum"))
    assert names == ("count(1)", "for estimates: sum(__weight)", "for estimates: sum(1.0D) FILTER (WHERE x)")


def test_what_does_not_fit_has_the_names_of_spark_each_once() -> None:
    assert value_names(("collect_list(x)", SUM), ("buf", "sum", "sum")) == ("buf", "sum", "sum (2)")
    assert value_names((SUM, AVG), ("sum", "count")) == ("sum", "count")
    assert value_names((), ("k", "k")) == ("k", "k (2)")
