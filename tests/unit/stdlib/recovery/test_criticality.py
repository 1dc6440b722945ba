"""Streams by the names of their attributes: the lists of the thesis' example and appendix C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from streamq.stdlib.recovery.criticality import (
    CATEGORIES,
    DOMAINS,
    Domain,
    Pairs,
    category,
    common_words,
    domain_of,
    pairs,
    sweep,
)
from streamq.stdlib.recovery.names import (
    Similarity,
    co_occurrence,
    name_sim,
    names_match,
    similarity,
    synonyms,
    tokens,
)
from tests.unit.stdlib.recovery.plain import table

L = "Location, Precipitation, Humidity, Temperature, Visibility, Sunrise, Sunset, Barometer, DewPoint, Wind".split(", ")
V = "Symbol, Company Name, Last Sale, Net, Percent Change, Volume, Market Cap, Weight, Stock, Buy, Sell".split(", ")
S = "Location, Max Day, Min Night, Wind, Visibility, Pressure, Relative Humidity, Sun Index, Pollution".split(", ")

OWN = {"WX": "weather", "ST": "stock exchange", "IT": "Internet traffic"}
BY_NAME = {domain.name: domain for domain in DOMAINS}


def corpus(name: str) -> list[tuple[str, list[str], dict[str, str]]]:
    """The domain, the names and the row of each site."""
    rows = table(f"names_{name}.csv", "|")
    return [(OWN.get(row["domain"], row["domain"]), row["attributes"].split(", "), row) for row in rows]


TRAINING, TEST = corpus("training"), corpus("test")


def test_g12_names_of_example_5() -> None:
    assert similarity(L, S) == Similarity(0.4, pytest.approx(4 / 13))
    assert similarity(V, S) == Similarity(0, 0)
    for thresholds in ((0.173, 0.15), (0.29, 0.65)):
        assert names_match(L, S, *thresholds)
        assert not names_match(V, S, *thresholds)
    assert not names_match(L, S, 0.31)
    assert not names_match(L, S, 0.29, 0.09)


@pytest.mark.parametrize(("name", "wrong"), [("training", [3, 16, 23]), ("test", [1, 2, 7, 20, 24])])
def test_g18_sites_are_found_to_be_of_their_domain(name: str, wrong: list[int]) -> None:
    sites = corpus(name)
    assert len(sites) == 40
    missed = []
    for number, (own, names, _) in enumerate(sites, start=1):
        domain = domain_of(names)
        # None is taken for another domain.
        assert domain is None or domain.name == own
        if own in BY_NAME and domain is None:
            missed.append(number)
    assert missed == wrong


def test_g18_printed_similarities_give_the_printed_answers() -> None:
    """But for channelnewsasia.com, whose smaller one is 0.2."""
    different = []
    for _, _, row in TRAINING + TEST:
        if row["sim_ij"]:
            sim = Similarity(float(row["sim_ij"]), float(row["sim_ji"]))
            if sim.holds() != (row["eq"] == "1"):
                different.append(row["source"])
    assert different == ["channelnewsasia.com"]
    assert sum(row["detected"] != row["domain"] for _, _, row in TEST if row["domain"] in OWN) == 3


def test_g18_most_printed_similarities_are_shares_of_words() -> None:
    """28 of the 38 of weather and Internet traffic, to less than one of the last printed digit."""
    reproduced = [
        abs(value - float(row[way])) < 10.0 ** -len(row[way].partition(".")[2])
        for own, names, row in TRAINING + TEST
        if own in ("weather", "Internet traffic")
        for sim in [similarity(names, BY_NAME[own].names)]
        for value, way in ((sim.forth, "sim_ij"), (sim.back, "sim_ji"))
    ]
    both = [a and b for a, b in zip(reproduced[::2], reproduced[1::2], strict=True)]
    assert (len(both), sum(both)) == (38, 28)


def test_e27_words_that_are_in_most_lists_of_a_domain() -> None:
    """More than 0.8 of the lists: company and volume of stock exchanges are in 8 of 10."""
    lists = {name: [names for own, names, _ in TRAINING if own == name] for name in BY_NAME}
    found = {name: common_words(some) for name, some in lists.items()}
    assert found == {
        "weather": ("location", "humidity", "wind"), "stock exchange": (), "Internet traffic": ("router", "loss"),
    }  # fmt: skip
    assert {"company", "volume"} <= set(common_words(lists["stock exchange"], 0.79))


def test_f34_a_word_of_9_in_10_lists_stays_and_one_of_8_goes() -> None:
    lists = [["nine", "eight"]] * 8 + [["Nine nine"]] + [["other"]]
    assert common_words(lists) == ("nine",)
    for bad in (([], 0.8), ([["a"]], 1.0)):
        with pytest.raises(ValueError, match="some lists"):
            common_words(*bad)


def test_f33_thresholds_of_printed_similarities() -> None:
    """Of table C.1: 0.29 misses 3 and takes none for another; from 0.612 on the variation threshold changes nothing."""
    rows = [(float(row["sim_ij"]), float(row["sim_ji"]), row["domain"] in OWN) for _, _, row in TRAINING]
    printed = Pairs(*(np.array(c) for c in zip(*rows, strict=True)))
    wrongly, missed = sweep(printed, (0.16, 0.29))
    assert (wrongly.tolist(), missed.tolist()) == ([[2], [0]], [[0], [3]])
    wrongly, missed = sweep(printed, (0.29,), (0.611, 0.612, 0.65, 1.0))
    assert (wrongly.tolist(), missed.tolist()) == ([[0] * 4], [[4, 3, 3, 3]])


def test_f33_a_sweep_over_all_sites_and_lists() -> None:
    given = pairs([(own, names) for own, names, _ in TRAINING])
    assert len(given.same) == 120
    wrongly, missed = sweep(given, (0.1, 0.16, 0.29, 0.41))
    assert (wrongly.tolist(), missed.tolist()) == ([[4], [2], [0], [0]], [[1], [1], [3], [11]])


def test_f30_categories() -> None:
    names = ["Router", "Packet Loss", "Average Delay"]
    assert (category(names), category(L), category(["Patient", "Pulse"])) == (
        "low critical", "moderately critical", "others",
    )  # fmt: skip
    assert (CATEGORIES["medical"], CATEGORIES["population"]) == ("extremely critical", "not critical")
    assert set(BY_NAME) < set(CATEGORIES)


def test_f30_a_domain_of_the_user() -> None:
    names = ["Patient", "Pulse rate", "Blood pressure"]
    medical = Domain("medical", "extremely critical", ("patient", "pulse", "pressure"))
    assert domain_of(names) is None
    assert category(names, (*DOMAINS, medical)) == "extremely critical"
    # Of domains that match, the most alike one.
    vague = Domain("vague", "not critical", ("patient", "pulse", "x"))
    assert domain_of(names, (vague,)) == vague
    assert domain_of(names, (vague, medical, vague)) == medical


def test_words_of_names() -> None:
    assert tokens(["Wind Speed", "DewPoint", "sun_rise", "52 Week High!", ""]) == (
        "wind", "speed", "dewpoint", "sun", "rise", "52", "week", "high",
    )  # fmt: skip
    assert name_sim(["wind wind", "x"], ["Wind"]) == pytest.approx(2 / 3)
    for nothing in ([], ["..."]):
        assert (name_sim(nothing, ["a"]), name_sim(["a"], nothing)) == (0, 0)


@pytest.mark.parametrize(
    ("others", "expected"), [(["wind"], 0.5), (["wind", "gale"], 1 - 0.5 * 0.8), (["gust", "wind"], 1.0), (["sun"], 0.0)]
)
def test_correlations_of_words_add_up_as_chances(others: Sequence[str], expected: float) -> None:
    corr = synonyms({("gust", "wind"): 0.5, ("gale", "gust"): 0.2})
    assert name_sim(["Gust"], others, corr) == pytest.approx(expected)


def test_bad_correlations() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        synonyms({("a", "b"): 1.5})


def test_correlations_from_documents() -> None:
    corr = co_occurrence([["pressure barometer"], ["pressure", "wind"], ["Barometer"], ["pressure", "barometer"]])
    assert corr("pressure", "barometer") == corr("barometer", "pressure") == 2 / (3 + 3 - 2)
    assert (corr("wind", "wind"), corr("wind", "barometer"), corr("new", "new")) == (1, 0, 1)
