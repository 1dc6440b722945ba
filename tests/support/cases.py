"""Cases as files: programs with the outputs recorded for them, and programs with errors at their lines.

``tests/cases/plans/*.yaml`` and ``tests/cases/passes/*.yaml`` are lists of cases. The keys written by hand are
those of ``PlanCase`` and ``PassCase``; what stands under ``outputs`` (or ``before`` and ``after``) is recorded by
``pytest --accept``. That refuses to record a case whose program has errors, unless the case says ``fails: true``.

``tests/cases/errors/*.cql`` are programs. A comment ``-- error: 14 [SQ0203] "text"`` expects an error in column 14
of the next line that is no such comment; ``-- error: 3:14 [SQ0203] "text"`` in line 3 of the file, where no comment
can stand above. ``text`` is part of the message. ``warning`` and ``note`` are expected in the same way. A comment
``-- file: name.cql`` begins an included file. What is found and not expected fails as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import SourceFile, SourceMap

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CASES = Path(__file__).parent.parent / "cases"
MAIN = "program.cql"


class CaseError(Exception):
    """The case itself is wrong, or may not be recorded; never a reason to record anything."""


@dataclass(frozen=True)
class YamlCase:
    """One case of a YAML file; ``values`` are its keys, checked."""

    path: Path
    index: int
    name: str
    values: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.path.stem}: {self.name}"


def load_yaml(folder: str, allowed: Mapping[str, type], required: tuple[str, ...]) -> list[YamlCase]:
    """All cases of a folder under ``tests/cases``; odd ones are errors, none at all too."""
    cases: list[YamlCase] = []
    paths = sorted((CASES / folder).glob("*.yaml"))
    for path in paths:
        for index, values in enumerate(load_mappings(path)):
            check_keys(values, allowed, required, f"{path.name}, case {index + 1}")
            cases.append(YamlCase(path, index, values["name"], values))
    if not cases:
        raise CaseError(f"no cases in {folder}")
    ids = [case.id for case in cases]
    if len(set(ids)) < len(ids):
        raise CaseError(f"two cases have one name: {sorted(i for i in ids if ids.count(i) > 1)[0]}")
    return cases


def load_mappings(path: Path) -> list[Any]:
    """The cases of one YAML file, unchecked."""
    listed = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    if not isinstance(listed, list) or not listed:
        raise CaseError(f"{path.name} is not a list of cases")
    return listed


def check_keys(
    values: object, allowed: Mapping[str, type], required: tuple[str, ...], where: str
) -> None:
    """Raises ``CaseError`` for unknown keys, values of another type, and keys that are missing."""
    if not isinstance(values, dict):
        raise CaseError(f"{where}: not a mapping")
    for key, value in values.items():
        if key not in allowed:
            raise CaseError(f"{where}: unknown key `{key}`, known are {', '.join(allowed)}")
        if not isinstance(value, allowed[key]):
            raise CaseError(f"{where}: `{key}` is no {allowed[key].__name__}")
    for key in required:
        if key not in values:
            raise CaseError(f"{where}: `{key}` is missing")


def compile_case(text: str, files: Mapping[str, str] | None = None) -> CompileResult:
    """The program compiled with every invariant checked; ``files`` serve INCLUDE."""
    return compile_program(SourceFile(MAIN, text), CompileOptions(verify=True), reader(files or {}))


def reader(files: Mapping[str, str]) -> Callable[[str], str]:
    """Serves INCLUDE from a mapping of path to text."""

    def read(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(2, "no such file")
        return files[path]

    return read


def compile_yaml(case: YamlCase) -> CompileResult:
    """The program of a case. Raises ``CaseError`` where it fails and should not, or the reverse."""
    result = compile_case(case.values["program"], case.values.get("files"))
    if result.ok and case.values.get("fails"):
        raise CaseError(f"{case.id}: says `fails`, and compiles")
    if not result.ok and not case.values.get("fails"):
        shown = "\n".join(show(d, result.sources) for d in result.diagnostics)
        raise CaseError(f"{case.id}: does not compile\n{shown}")
    return result


def show(diagnostic: Diagnostic, sources: SourceMap) -> str:
    """``error program.cql:3:7 [SQ0202] unknown column `x```."""
    file, line, column = sources.locate(diagnostic.span)
    where = f"{file}:{line}:{column}"
    return f"{diagnostic.severity.value} {where} [{diagnostic.code}] {diagnostic.message}"


# --- recording -----------------------------------------------------------------------------------


def record(case: YamlCase, recorded: Mapping[str, Any]) -> None:
    """Writes new values of a case into its file; the comment at the top stays."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        raise CaseError("cases are recorded by one process: run pytest --accept without -n")
    text = case.path.read_text(encoding="utf-8")
    listed = load_mappings(case.path)
    listed[case.index].update(recorded)
    head = "".join(line for line in _head(text))
    body = "\n".join(
        yaml.dump([one], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
        for one in listed
    )
    case.path.write_text(head + body, encoding="utf-8")


def _head(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if not line.startswith("#") and line.strip():
            return
        yield line


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, as one would write them."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    lines = value.split("\n")
    if any(line != line.rstrip() for line in lines):
        raise CaseError("an output has spaces at the end of a line")
    style = "|" if len(lines) > 1 else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


# --- programs with errors ------------------------------------------------------------------------

_EXPECTED = re.compile(
    r"\s*-- (?P<severity>error|warning|note): (?:(?P<line>\d+):)?(?P<column>\d+)"
    r' \[(?P<code>SQ\d{4})\] "(?P<text>[^"]+)"\s*'
)
_ATTEMPT = re.compile(r"\s*--\s*(error|warning|note)\b")
_FILE = re.compile(r"-- file: (?P<name>\S+)\s*")


@dataclass(frozen=True, order=True)
class Expected:
    """One diagnostic that a case expects, at a line of a file."""

    file: str
    line: int
    column: int
    severity: str
    code: str
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}"
        return f"{self.severity} {where} [{self.code}] {self.text}"


@dataclass(frozen=True)
class ErrorCase:
    """A program, the files it includes, and all that must be found in them."""

    name: str
    text: str
    files: Mapping[str, str]
    expected: tuple[Expected, ...]


def load_error_cases() -> list[ErrorCase]:
    """All programs of ``tests/cases/errors``; one that expects nothing is an error."""
    paths = sorted((CASES / "errors").glob("*.cql"))
    if not paths:
        raise CaseError("no programs in errors")
    return [_read_error_case(path) for path in paths]


def _read_error_case(path: Path) -> ErrorCase:
    sections: dict[str, list[str]] = {MAIN: []}
    name = MAIN
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        begins = _FILE.fullmatch(line)
        if begins:
            name = begins["name"]
            if name in sections:
                raise CaseError(f"{path.name}: two files are called {name}")
            sections[name] = []
        else:
            sections[name].append(line)
    expected = [e for file, lines in sections.items() for e in _expectations(file, lines, path)]
    if not expected:
        raise CaseError(f"{path.name} expects nothing")
    texts = {file: "".join(lines) for file, lines in sections.items()}
    return ErrorCase(path.stem, texts.pop(MAIN), texts, tuple(sorted(expected)))


def _expectations(file: str, lines: list[str], path: Path) -> Iterator[Expected]:
    waiting: list[re.Match[str]] = []
    for number, line in enumerate(lines, 1):
        found = _EXPECTED.fullmatch(line)
        if found is None and _ATTEMPT.match(line):
            raise CaseError(f"{path.name}: line {number} of {file} is no expectation: {line!r}")
        if found is None:
            for one in waiting:
                yield _expected(file, number, one)
            waiting = []
        elif found["line"]:
            yield _expected(file, int(found["line"]), found)
        else:
            waiting.append(found)
    if waiting:
        raise CaseError(f"{path.name}: an expectation stands above no line of {file}")


def _expected(file: str, line: int, found: re.Match[str]) -> Expected:
    return Expected(
        file, line, int(found["column"]), found["severity"], found["code"], found["text"]
    )


def compare(case: ErrorCase, result: CompileResult) -> list[str]:
    """What was expected and not found, and the reverse, as lines; none where all is as expected."""
    expected = list(case.expected)
    wrong: list[str] = []
    for diagnostic in result.diagnostics:
        match = next((e for e in expected if _matches(e, diagnostic, result.sources)), None)
        if match is None:
            wrong.append(f"not expected: {show(diagnostic, result.sources)}")
        else:
            expected.remove(match)
    return wrong + [f"not found:    {e}" for e in expected]


def _matches(expected: Expected, diagnostic: Diagnostic, sources: SourceMap) -> bool:
    place = sources.locate(diagnostic.span)
    return (
        place == (expected.file, expected.line, expected.column)
        and diagnostic.severity.value == expected.severity
        and diagnostic.code == expected.code
        and expected.text in diagnostic.message
    )
