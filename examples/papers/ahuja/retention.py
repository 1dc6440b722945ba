"""What is recovered of shed attributes, and how much has to be stored for that; and recovery by the nearest neighbour.

An error of E percent is allowed for each value, so accuracy is at least 100 - E. Run from the root of the repository::

    python -m examples.papers.ahuja.retention [--seeds 10] [--only streams long new_york stocks population printed
        neighbours] [--quick] [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from examples.papers.ahuja.streams import (
    STREAMS,
    countries,
    four_stocks,
    new_york,
    order,
    printed,
    printed_numbers,
    recovered,
)
from examples.papers.figures import draw
from examples.papers.parts import Options, counted, main, row
from examples.papers.statements import said
from streamq.stdlib.attributes.lookalike import SEED, Lookalike
from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.measures import recovery_accuracy, rel_error_pct, stored_pct
from streamq.stdlib.recovery.nearest import Scaling, nearest

Four = tuple[float, float, float, float]
Expected = Mapping[str, tuple[Four, Four]]

ERRORS = (10.0, 5.0, 2.0, 1.0)
EXPECTED: dict[tuple[str, str], tuple[Four, Four]] = {
    ("weather", "barometer"): ((1.04, 1.10, 4.61, 14.69), (98.68, 98.72, 99.30, 99.64)),
    ("weather", "sun_set"): ((1.04, 1.04, 1.04, 1.51), (99.51, 99.51, 99.51, 99.63)),
    ("weather", "temperature"): ((2.00, 4.43, 12.40, 27.31), (96.49, 98.15, 99.28, 99.67)),
    ("stock", "last_sale"): ((1.04, 1.04, 1.04, 1.19), (99.68, 99.68, 99.68, 99.72)),
    ("stock", "share_volume"): ((7.29, 13.54, 29.17, 50.00), (95.10, 97.69, 99.15, 99.65)),
    ("stock", "percent_change"): ((27.50, 44.43, 64.36, 73.48), (97.30, 99.04, 99.83, 99.98)),
    ("internet", "minimum_delay"): ((1.75, 5.56, 22.42, 44.94), (97.19, 98.28, 99.33, 99.74)),
    ("internet", "response_time"): ((12.57, 31.41, 63.72, 81.02), (96.51, 98.47, 99.64, 99.90)),
}
"""What another program had for the same streams, by error: % stored, accuracy."""

EXPECTED_NEW_YORK: Expected = {
    "pressure": ((0.01, 0.01, 0.34, 1.71), (99.25, 99.25, 99.32, 99.63)),
    "temp": ((12.57, 27.73, 56.19, 73.62), (96.26, 98.39, 99.70, 99.997)),
    "humid": ((33.47, 51.56, 79.54, 80.74), (96.99, 98.82, 99.94, 99.96)),
}
EXPECTED_STOCKS: Expected = {
    "Low": ((3.04, 8.38, 25.20, 45.00), (96.42, 98.20, 99.36, 99.75)),
    "Close": ((2.99, 8.74, 26.63, 48.28), (96.41, 98.20, 99.37, 99.76)),
    "Volume": ((74.06, 86.76, 94.53, 97.53), (98.73, 99.67, 99.94, 99.99)),
}
EXPECTED_POPULATION: Expected = {"pop": ((66.14, 83.63, 93.08, 96.24), (97.86, 99.51, 99.92, 99.98))}
PRICES = ("Low", "Close")
PRINTED = 0.0051
"""How far a number can be from one that is printed with two decimals."""

TABLES = {"weather": "3.8 weather", "stock": "3.9 stock"}
AVERAGES = {"weather": (0.44, 1.02, 1.82, 7.77), "stock": (4.88, 18.11, 42.66, 51.11)}
"""Printed below Tables 3.8 and 3.9."""

TABLE_4_10 = {
    ("internet", "minimum_delay"): ((20.0, 13.5), 90.17, 1.71e-4, 96 / 16332958),
    ("stock", "percent_change"): ((1.3,), 99.63, 1.73e-4, 100 / 52516326),
    ("weather", "sun_set"): ((4.5,), 97.12, 3.2e-4, 75 / 28036790),
}
"""Errors allowed, accuracy, % stored; and the least share there can be, one value for each key."""

NEIGHBOURS = {("internet", "response_time"): 96.81, ("weather", "temperature"): 93.16}
"""Figures 3.5 and 3.6: mean accuracy of ten runs, %."""

APART = (1, 2, 4, 8, 16, 32, 64)
SCALINGS: tuple[Scaling, Scaling] = ("none", "zscore")


def _table(found: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
    print(f"  {'':30}" + "".join(f"{f'E = {e:g}':>9}" for e in ERRORS) + f"{'accuracy':>12}")
    for label, (stored, accuracy) in found.items():
        print(row(label, stored, "9.2f") + f"{accuracy[0]:12.2f}" + "".join(f"{a:9.2f}" for a in accuracy[1:]))


def _measured(stream: Lookalike, attribute: str) -> tuple[list[float], list[float], bool]:
    """By error: % stored, accuracy; and whether all values are within their bounds."""
    each = [recovered(stream.codes, column(stream.series(attribute)), e) for e in ERRORS]
    return [s for s, _, _ in each], [a for _, a, _ in each], all(m <= e for (_, _, m), e in zip(each, ERRORS, strict=True))


def _same(found: tuple[list[float], list[float]], expected: tuple[Four, Four]) -> bool:
    return all(
        abs(f - e) <= PRINTED for fs, es in zip(found, expected, strict=True) for f, e in zip(fs, es, strict=True)
    )


def streams(options: Options) -> bool:
    """Tables 3.8 and 3.9 on streams that look like weather, stocks and routers: 96 cycles."""
    found, within = {}, []
    for name, attribute in counted("streams", EXPECTED):
        stored, accuracy, bounded = _measured(STREAMS[name](), attribute)
        found[f"{name}.{attribute}"] = (stored, accuracy)
        within.append(bounded)
    print("\n% of the shed values that are stored, and accuracy, by the error allowed; 1.04 is one value for each key")
    _table(found)
    for name, table in TABLES.items():
        for label, pick in (("least", min), ("most", max)):
            print(row(f"thesis, Table {table}, {label}", [pick(run) for run in _runs(table)], "9.2f"))
        print(row("  printed average", AVERAGES[name], "9.2f"))
    for name in STREAMS:
        lines = {label: stored for label, (stored, _) in found.items() if label.startswith(name)}
        if name in TABLES:
            lines["thesis"] = [float(np.mean(run)) for run in _runs(TABLES[name])]
        draw(options.figures, f"retention_{name}", f"Values stored, {name}", [100 - e for e in ERRORS], lines,
             xlabel="accuracy guaranteed, %", ylabel="stored, %")
    same = all(_same(found[f"{n}.{a}"], expected) for (n, a), expected in EXPECTED.items())
    checks = [
        said(same, "shares and accuracies are those that another program had, to two decimals"),
        said(all(within), "every value is recovered with at most the error that is allowed"),
        said(all(all(a <= b for a, b in pairwise(s)) for s, _ in found.values()), "more is stored for less error, of all of these"),
    ]
    for name, attribute in (("weather", "barometer"), ("stock", "share_volume")):
        inside = [min(run) <= s <= max(run) for s, run in zip(found[f"{name}.{attribute}"][0], _runs(TABLES[name]), strict=True)]
        where = ", ".join(f"{e:g}" for e, i in zip(ERRORS, inside, strict=True) if not i)
        checks.append(said(all(inside), f"Table {TABLES[name]}: {attribute} is stored as often as in one of the runs"
                           + (f" (not for E = {where})" if where else "")))
    return all(checks)


def long(options: Options) -> bool:
    """Table 4.10: the attributes that the thesis sheds, of longer and longer streams."""
    lengths = (96, 480) if options.quick else (96, 480, 1920)
    print("\nvalues stored for each key, and accuracy, by cycles\n" + f"  {'':30}{'E':>6}" + "".join(f"{c:>17}" for c in lengths)
          + f"{'thesis':>17}")
    last, within = {}, []
    for name, attribute in counted("long", TABLE_4_10):
        errors, accuracy, stored, floor = TABLE_4_10[name, attribute]
        for error in errors:
            cells = []
            for cycles in lengths:
                stream = STREAMS[name](cycles=cycles)
                share, correct, most = recovered(stream.codes, column(stream.series(attribute)), error)
                cells.append(f"{share * cycles / 100:.2f} / {correct:.2f}")
                within.append(most <= error)
                last[name, error] = (share * cycles / 100, correct)
            print(f"  {name + '.' + attribute:30}{error:6}" + "".join(f"{c:>17}" for c in cells)
                  + f"{f'{stored / 100 / floor:.2f} / {accuracy}':>17}")
    mean = float(np.mean([last["internet", 20.0][1], last["stock", 1.3][1], last["weather", 4.5][1]]))
    print(f"  mean accuracy: {mean:.2f}, thesis: 95.64")
    most = max(stored / 100 / floor for _, _, stored, floor in TABLE_4_10.values())
    return all([
        said(all(within), "every value is recovered with at most the error that is allowed"),
        said(mean >= 95.64, "Table 4.10: accuracy is at least 95.64 % on average"),
        said(all(stored <= most for stored, _ in last.values()),
             f"Table 4.10: for a key no more than {most:.2f} values are stored, however long it goes on"),
    ])


def new_york_weather(options: Options) -> bool:
    """The same of the weather of New York: 7039 cycles of 3 airports."""
    stream = new_york()
    if stream is None:
        return True
    beside = {"thesis, Table 3.8, mean": [float(np.mean(run)) for run in _runs(TABLES["weather"])]}
    found, checks = _of_package(stream, EXPECTED_NEW_YORK, beside, options, "new_york", "weather of New York")
    shed = list(found)
    dear = [name for name, (stored, _) in found.items() if stored[3] > 33]
    return all([
        *checks,
        said(found["pressure"][0][3] <= max(_runs(TABLES["weather"])[3]),
             "Table 3.8: for an error of 1 % no more of the pressure is stored than in the runs"),
        said(not dear, f"abstract: at most 33 % of the values of weather are stored for an error of 1 % (more of {', '.join(dear)})"),
        said(found[shed[0]][0][3] <= 33, f"and so of what is shed first ({shed[0]})"),
    ])


def stocks(options: Options) -> bool:
    """Table 3.9 again, on days of four stocks: 2148 cycles."""
    stream = four_stocks()
    if stream is None:
        return True
    runs = _runs(TABLES["stock"])
    beside = {f"thesis, Table 3.9, {label}": [float(pick(run)) for run in runs]
              for label, pick in (("least", min), ("mean", np.mean), ("most", max))}
    found, checks = _of_package(stream, EXPECTED_STOCKS, beside, options, "four_stocks", "four stocks")
    # Runs are printed in whole percents.
    by_error = [(e, [round(found[name][0][at]) for name in PRICES], runs[at]) for at, e in enumerate(ERRORS)]
    outside = [e for e, stored, run in by_error if min(stored) < min(run) or max(stored) > max(run)]
    return all([
        *checks,
        said(all(max(stored) <= max(run) for _, stored, run in by_error),
             "Table 3.9: no more of the prices is stored than in the runs"),
        said(not outside, "Table 3.9: prices are stored as often as in one of the runs"
             f" (not for E = {', '.join(f'{e:g}' for e in outside)})"),
    ])


def population(options: Options) -> bool:
    """The same of countries, of which the thesis says no more than fixed points: 12 cycles."""
    stream = countries()
    if stream is None:
        return True
    _, checks = _of_package(stream, EXPECTED_POPULATION, {}, options, "countries", "countries")
    return all(checks)


def _of_package(
    stream: Lookalike, expected: Expected, beside: Mapping[str, Sequence[float]], options: Options, name: str, title: str
) -> tuple[dict[str, tuple[list[float], list[float]]], list[bool]]:
    """By attribute and error: % stored, accuracy; and statements that hold of all such data."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    within = []
    for attribute in order({a: x[:24].ravel() for a, x in stream.values.items()}):
        stored, accuracy, bounded = _measured(stream, attribute)
        found[attribute] = lines[attribute] = (stored, accuracy)
        within.append(bounded)
        if attribute in expected:
            lines[f"  {attribute}, expected"] = expected[attribute]
    print(f"\n{title}, in the order in which it is shed: % stored, and accuracy, by the error allowed;\n"
          f"{stored_pct(len(stream.keys), len(stream.codes)):.2f} is one value for each key")
    _table(lines)
    for label, of in beside.items():
        print(row(label, of, "9.2f"))
    draw(options.figures, f"retention_{name}", f"Values stored, {title}", [100 - e for e in ERRORS],
         {a: stored for a, (stored, _) in found.items()}, xlabel="accuracy guaranteed, %", ylabel="stored, %")
    return found, [
        said(all(_same(found[a], of) for a, of in expected.items()),
             "shares and accuracies are those that another program had, to two decimals"),
        said(all(within), "every value is recovered with at most the error that is allowed"),
    ]


def tables(_options: Options) -> bool:
    """Whether the tables of the thesis agree with themselves."""
    print("\naverages of Tables 3.8 and 3.9: of the 8 runs that are printed, and as printed")
    means = {}
    for name, table in TABLES.items():
        means[name] = [float(np.mean(run)) for run in _runs(table)]
        print(row(f"{table}, of the runs", means[name], "9.3f") + "\n" + row("  printed", AVERAGES[name], "9.3f"))
    print("\nTable 4.10: % stored, and the least there can be, one value for each key")
    possible = {}
    for (name, attribute), (_, _, stored, floor) in TABLE_4_10.items():
        possible[name] = stored >= 100 * floor
        print(f"  {name + '.' + attribute:30}{stored:12.2e}{100 * floor:12.2e}")
    print("\nTables 4.7 to 4.9: largest error of the values that are printed, and allowed, %")
    largest = {}
    for table, allowed in (("4.7", 20.0), ("4.8", 1.3), ("4.9", 4.5)):
        pairs = [(float(r["original"]), float(r["recovered"])) for r in printed("tables_4_7_to_4_9_recovered") if r["table"] == table]
        errors = rel_error_pct(column([o for o, _ in pairs]), column([r for _, r in pairs]))
        largest[table] = (float(errors.max()), allowed)
        print(f"  {table:30}{errors.max():12.2f}{allowed:12.2f}")
    accuracy = np.array([a for _, a, _, _ in TABLE_4_10.values()])
    return all([
        # A run is missing of nine: averages can differ by what it is away from the others.
        *(said(all(_could_be(run, a) for run, a in zip(_runs(t), AVERAGES[n], strict=True)),
               f"Table {t[:3]}: the printed averages can be of these runs and one more") for n, t in TABLES.items()),
        said(abs(accuracy.mean() - 95.64) < 0.005, "Table 4.10: the mean accuracy is 95.64 %"),
        said(all(possible.values()), "Table 4.10: as much is stored as is needed at least"),
        *(said(most <= allowed, f"Table {table}: values are recovered within {allowed} %") for table, (most, allowed) in largest.items()),
    ])


def neighbours(options: Options) -> bool:
    """Figures 3.5 and 3.6: recovery from the most similar row of another window."""
    weather = printed_numbers("g6_weather")
    shed = weather.pop("temperature")
    rest = np.stack(list(weather.values()), axis=1)
    got = nearest(rest[16:], rest[:16], shed[:16])
    error = 100 - recovery_accuracy(column(shed[16:]), column(got.values))
    print(f"\nTable 3.2, temperature of rows 17 to 31 from rows 1 to 16: accuracy {100 - error:.3f} %")
    ok = said(abs(error - 4.113) < 0.0005 and got.values[:5].tolist() == [66, 95, 78, 97, 96], "as another program had it")
    checks = [ok]
    print("\naccuracy, %, by how many windows two are apart; mean of so many runs: " + str(options.seeds) + "\n"
          + row("", APART, "8.0f") + f"{'thesis':>10}")
    for (name, attribute), thesis in NEIGHBOURS.items():
        stream = STREAMS[name](cycles=96)
        means = {s: [_by_neighbours(stream, attribute, d, s, options.seeds) for d in APART] for s in SCALINGS}
        for scaling in SCALINGS:
            print(row(f"{name}.{attribute}, {scaling}", means[scaling], "8.2f") + f"{thesis:10}")
        lines = {f"scaling {scaling}": of for scaling, of in means.items()}
        draw(options.figures, f"neighbours_{name}", f"Nearest neighbours: {attribute}", APART, {**lines, "thesis": [thesis] * len(APART)},
             xlabel="windows apart", ylabel="accuracy, %")
        synopsis = recovered(stream.codes, column(stream.series(attribute)), 5)
        print(f"  by a synopsis with E = 5: {synopsis[1]:.2f} %, {synopsis[0]:.2f} % stored; for neighbours a whole window is kept")
        checks += [
            said(means["none"][0] >= thesis, f"{attribute}: at least {thesis} % from the next window"),
            said(means["none"][0] > means["none"][-1], f"{attribute}: errors are larger from a window that is further away"),
        ]
    return all(checks)


def _by_neighbours(stream: Lookalike, attribute: str, apart: int, scaling: Scaling, runs: int) -> float:
    rest = np.stack([x for name, x in stream.values.items() if name != attribute], axis=2)
    shed = stream.values[attribute]
    found = []
    for at in np.random.RandomState(SEED).choice(len(shed) - max(APART), runs, replace=False):
        got = nearest(rest[at], rest[at + apart], shed[at + apart], scaling)
        found.append(recovery_accuracy(column(shed[at]), column(got.values)))
    return float(np.mean(found))


def _runs(table: str) -> list[list[float]]:
    """The shares that are stored in runs, by error."""
    rows = [r for r in printed("tables_3_8_3_9_stored") if r["table"] == table and r["run"].isdigit()]
    return [[float(r[a]) for r in rows] for a in ("acc90", "acc95", "acc98", "acc99")]


def _could_be(run: Sequence[float], average: float) -> bool:
    """Whether nine runs, of which these are eight, can have the average, cut off to two decimals, if the ninth is like these."""
    least, most = ((sum(run) + extreme) / 9 for extreme in (min(run), max(run)))
    return least - 0.01 <= average <= most


PARTS = {"streams": streams, "long": long, "new_york": new_york_weather, "stocks": stocks, "population": population,
         "printed": tables, "neighbours": neighbours}

if __name__ == "__main__":
    sys.exit(main(__doc__, PARTS, seeds=10))
