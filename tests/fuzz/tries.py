"""One program through ``check`` and ``fmt``, and what must hold of both."""

from __future__ import annotations

import ast
import io
import json
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, SimpleNamespace

from streamq.compiler.explain import render
from streamq.compiler.explain.pyspark_source import refusals, to_pyspark
from streamq.compiler.recursion import deep_recursion
from streamq.dsl.diagnostics import DiagnosticSink, Severity
from streamq.dsl.parser import parse_program
from streamq.dsl.source import SourceFile
from streamq.runtime.formatting import format_file
from streamq.runtime.programs import STDIN, Loaded, load_program
from streamq.runtime.render import render_concise, render_diagnostics

SECONDS = 2.0
"""Of processor time, for a program through ``check`` and again through ``fmt``; more is a hang."""


class HangError(BaseException):
    """Too slow. No Exception, so that no handler of ours swallows it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``codes``: of what ``check`` found, each once. ``fault``: what is wrong with StreamQ, empty where nothing is, and ``place`` where."""

    codes: tuple[str, ...] = ()
    seconds: float = 0.0
    fault: str = ""
    place: str = ""


def tried(data: bytes) -> Outcome:
    """What ``check`` and ``fmt`` make of a program on standard input."""
    began = time.process_time()
    codes: tuple[str, ...] = ()
    try:
        with _limit():
            codes = _check(data)
        with _limit():
            _format(data)
    except (Exception, HangError) as error:  # this is what is looked for
        place = _place(error)
        said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return Outcome(codes, time.process_time() - began, said, place)
    return Outcome(codes, time.process_time() - began)


def _check(data: bytes) -> tuple[str, ...]:
    with _standard_input(data):
        loaded = load_program(STDIN)
    errors = [d for d in loaded.diagnostics if d.severity is Severity.ERROR]
    plan = loaded.result.plan if loaded.result is not None else None
    assert plan is not None or errors, "neither a plan nor a reason"
    for width in (40, 100):
        shown = render_diagnostics(loaded.diagnostics, loaded.sources, width=width)
        assert _is_fit_for_a_terminal(shown), "characters that steer a terminal are shown"
    for d in loaded.diagnostics:
        assert d.message, "a diagnostic without a message"
        assert 0 <= d.span.start <= d.span.end, "a place that is none"
        assert _is_fit_for_a_terminal(render_concise(d, loaded.sources)), "characters that steer a terminal are shown"
    json.dumps([d.to_dict(loaded.sources) for d in loaded.diagnostics], ensure_ascii=False).encode()
    _explain(loaded)
    return tuple(dict.fromkeys(d.code for d in loaded.diagnostics))


def _explain(loaded: Loaded) -> None:
    """Programs without errors can be shown, and written as PySpark that Python can read."""
    result = loaded.result
    if result is None or result.plan is None:
        return
    render(result, "annotated")
    render(result, "physical", "json")
    if not refusals(result.plan):
        ast.parse(to_pyspark(result.plan))


def _is_fit_for_a_terminal(text: str) -> bool:
    return re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066\u2028]", text) is None


def _format(data: bytes) -> None:
    with _standard_input(data):
        once = format_file(STDIN, write=False)
    if once.failed:
        assert once.diagnostics, "not formatted, without a reason"
        return
    with _standard_input(once.text.encode()):
        twice = format_file(STDIN, write=False)
    assert not twice.failed, "what `fmt` writes cannot be read"
    assert twice.text == once.text, "`fmt` changes what it wrote"
    with deep_recursion():
        assert _tree(once.before) == _tree(once.text), "`fmt` changes the program"


def _tree(text: str) -> tuple[object, ...]:
    return parse_program(SourceFile("", text), DiagnosticSink()).statements


@contextmanager
def _standard_input(data: bytes) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = SimpleNamespace(buffer=io.BytesIO(data))  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdin = before


@contextmanager
def _limit() -> Iterator[None]:
    """Raises HangError after SECONDS of processor time."""

    def hang(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {SECONDS:g} seconds")

    before = signal.signal(signal.SIGPROF, hang)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _place(error: BaseException) -> str:
    """The innermost line of StreamQ, or of these checks, that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/site-packages/" not in f.filename and "/lib/python" not in f.filename]
    last = (ours or frames)[-1]
    return f"{'/'.join(last.filename.split('/')[-3:])}:{last.lineno} in {last.name}"
