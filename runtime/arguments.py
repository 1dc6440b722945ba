"""The arguments of the command line, read with argparse.

The standard library's parser starts in a few milliseconds. ``check`` and ``explain`` have 300 in all.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

from streamq.runtime.option_errors import Parser

Arguments = argparse.Namespace
Command = Callable[[Arguments], int]

_DURATION = r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?"
_MASTER = (
    r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://[^,/]+:\d+(,[^,/]+:\d+)*|yarn|k8s://.+"
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_FILE_HELP = "a .cql program, - for standard input"


class _Help(argparse.HelpFormatter):
    """Of each argument that is added argparse makes one; its own imports shutil, with all archives, for the width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80


def build_parser(commands: dict[str, Command], asked: str = "") -> argparse.ArgumentParser:
    """The parser; ``commands`` maps each command's name to its function (in ``args.command``).

    ``asked``: the first argument. Where it is a command only that one is built, in a third of the time.
    """
    parser = Parser(
        prog="streamq",
        description="Continuous queries that say what they are worth, on Spark Structured Streaming.",
        allow_abbrev=False, formatter_class=_Help,
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    parser.set_defaults(command=None)
    # With no ``prog`` argparse would format a usage for it, and import shutil and its archives.
    kinds = parser.add_subparsers(title="commands", metavar="COMMAND", prog="streamq")

    for name in (asked,) if asked in commands else commands:
        text, add = _COMMANDS[name]
        made = kinds.add_parser(
            name, help=text, description=text, allow_abbrev=False, formatter_class=_Help
        )
        made.set_defaults(command=commands[name])
        add(made)
    return parser


def _add_permission(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--allow-functions", action="store_true", help="the program may bring code: CREATE FUNCTION, and settings that load some"
    )


def _add_init(init: argparse.ArgumentParser) -> None:
    init.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or an empty one")


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("files", nargs="+", metavar="FILE", help=_FILE_HELP)
    check.add_argument("--format", choices=("text", "concise", "json"), default="text")


def _add_compile(compiles: argparse.ArgumentParser) -> None:
    compiles.add_argument("file", metavar="FILE", help=_FILE_HELP)
    compiles.add_argument("--emit", choices=("plan", "pyspark", "submit", "pipelines", "edge"), default="plan")
    compiles.add_argument("--stream", metavar="NAME", help="with --emit edge: of which stream")
    compiles.add_argument(
        "--check-against", type=Path, metavar="DIR", help="say whether each query can go on with its checkpoint there"
    )
    compiles.add_argument("--format", choices=("text", "json"), default="text", help="with --check-against")
    _add_permission(compiles)
    compiles.add_argument("-o", "--output", type=Path, metavar="PATH", help="write there")


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("file", metavar="FILE", help=_FILE_HELP)
    explain.add_argument(
        "--stage", choices=("logical", "annotated", "physical", "spark"), default="annotated"
    )
    explain.add_argument(
        "--format", choices=("text", "json", "mermaid"), default="text",
        help="mermaid: a drawing, to be pasted into a page on GitHub or into mermaid.live",
    )
    explain.add_argument("--query", metavar="NAME", help="only this query")
    explain.add_argument("--shed", action="store_true", help="where rows go or could go, and why there")
    explain.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="with --shed: of a run, to show the sifters that it has"
    )
    explain.add_argument(
        "--picture", type=Path, metavar="DIR", help="with --shed --checkpoint: draw the sifters of two attributes there, as SVG; of nothing else"
    )


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("file", metavar="FILE", help=_FILE_HELP)
    add_run_options(run)


def add_run_options(run: argparse.ArgumentParser) -> None:
    """How a program is run, wherever it comes from."""
    run.add_argument(
        "--for", dest="duration", type=duration, metavar="TIME",
        help="stop after 20s, 5m, 1h, from the first micro-batch on",
    )
    run.add_argument("--once", action="store_true", help="read what is there now, then stop")
    run.add_argument("--limit", type=positive, metavar="N", help="stop after N result rows")
    run.add_argument(
        "--query", action="append", default=[], metavar="NAME", help="only this one; repeatable"
    )
    run.add_argument(
        "--checkpoint", type=writable_folder, metavar="DIR", help="keep the place there; a restart goes on"
    )
    run.add_argument(
        "--fresh", action="append", default=[], metavar="QUERY",
        help="with --checkpoint: move the old checkpoint of this one aside, and start it anew; repeatable",
    )
    run.add_argument("--master", type=master, metavar="URL", help="a Spark cluster to run on, spark://HOST:PORT; else this machine")
    run.add_argument("--rows", type=positive, metavar="N", help="rows shown of each batch; 20, with --json 100000")
    run.add_argument(
        "--set", action="append", default=[], dest="settings", metavar="KEY=VALUE",
        help="a setting, as SET in the program; repeatable",
    )
    _add_jars(run)
    _add_permission(run)
    run.add_argument("--log-file", type=file_to_write, metavar="PATH", help="write Spark's own log there")
    run.add_argument(
        "--report", action="append", default=[], type=report_path, metavar="PATH",
        help="write how the run went there, as a page (.html) or as data (.json); repeatable",
    )
    run.add_argument(
        "--metrics", type=listen_address, metavar="[HOST]:PORT",
        help="answer Prometheus there; without a host only this machine can ask",
    )
    run.add_argument(
        "--events", type=events_path, metavar="PATH", help="write what happens as JSON lines there, - for standard output"
    )
    run.add_argument(
        "--stop-within", type=duration, default=30.0, metavar="TIME", help="how long a signal lets running batches go on; 30s"
    )
    shown = run.add_mutually_exclusive_group()
    shown.add_argument("-q", "--quiet", action="store_true", help="print results only")
    shown.add_argument("--json", action="store_true", help="print JSON lines")


def _add_jars(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jars", action="append", default=[], type=Path, metavar="PATH",
        help="a jar, or a folder of jars, that connectors need, as STREAMQ_JARS names them; repeatable",
    )


def _add_state(state: argparse.ArgumentParser) -> None:
    state.add_argument("directory", type=Path, metavar="DIR", help="what a run had as --checkpoint")
    state.add_argument("--query", metavar="NAME", help="only this query")
    state.add_argument("--rows", metavar="OPERATOR", help="show keys and values of an operator, hot_items.aggregate for instance; starts Spark")
    state.add_argument("--limit", type=positive, default=20, metavar="N", help="with --rows: so many; 20")
    state.add_argument("--json", action="store_true", help="print JSON")


def _add_malformed(malformed: argparse.ArgumentParser) -> None:
    malformed.add_argument("file", metavar="FILE", help=_FILE_HELP)
    malformed.add_argument("--stream", metavar="NAME", help="only this stream")
    malformed.add_argument("--limit", type=positive, default=20, metavar="N", help="rows of each stream that are shown; 20")
    _add_jars(malformed)
    _add_permission(malformed)
    malformed.add_argument("--json", action="store_true", help="print JSON lines")


def _add_edge(edge: argparse.ArgumentParser) -> None:
    edge.add_argument("file", metavar="FILE", help="a .cql program, or a plan that `compile --emit edge` wrote (.json)")
    edge.add_argument("--stream", metavar="NAME", help="the stream, where the program has more than one from an edge")
    edge.add_argument("--from", dest="read", metavar="PATH", help="a file, a folder of files, - for standard input; else what the program says")
    edge.add_argument("--to", metavar="URL", help="http://host:port of the run, or the folder that it reads; else what the program says")
    edge.add_argument("--store", type=file_to_write, metavar="PATH", help="the file of the synopsis and of what is on its way; NAME.edge")
    edge.add_argument("--token-file", type=Path, metavar="PATH", help="holds the token that the run knows too")
    edge.add_argument("--once", action="store_true", help="send what is there now, however long that takes, then stop")
    edge.add_argument(
        "--stay", type=duration, default=0.0, metavar="TIME", help="after the end of a pipe, or with --once: go on to answer for 30s, 5m"
    )
    edge.add_argument("-q", "--quiet", action="store_true", help="say only what goes wrong")


def _add_backfill(backfill: argparse.ArgumentParser) -> None:
    backfill.add_argument("file", metavar="FILE", help=_FILE_HELP)
    backfill.add_argument("--query", metavar="NAME", help="the query, where more than one keeps what it sheds")
    backfill.add_argument("--into", metavar="SINK", help="a sink of the program for the answers; else they are printed")
    backfill.add_argument("--remove", action="store_true", help="with --into: delete the rows when the answers are written")
    _add_jars(backfill)
    _add_permission(backfill)
    backfill.add_argument("--rows", type=positive, default=1000, metavar="N", help="answers that are printed; 1000")
    shown = backfill.add_mutually_exclusive_group()
    shown.add_argument("-q", "--quiet", action="store_true", help="print results only")
    shown.add_argument("--json", action="store_true", help="print JSON lines")


def _add_test(test: argparse.ArgumentParser) -> None:
    test.add_argument(
        "paths", nargs="*", default=["."], metavar="PATH",
        help="a .test.yaml file, a .cql program or a folder; the current folder if left out",
    )
    test.add_argument(
        "--engine", choices=("reference", "spark"), default="reference",
        help="spark: run the tests on Spark too, and compare; reference, the default, starts no Spark",
    )
    _add_permission(test)
    test.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML there as well")
    test.add_argument(
        "--filter", default="", metavar="TEXT", help="only tests with this in their name"
    )


def _add_fmt(fmt: argparse.ArgumentParser) -> None:
    fmt.add_argument("files", nargs="+", metavar="FILE", help=_FILE_HELP)
    fmt.add_argument("--check", action="store_true", help="change nothing, name files to change")
    fmt.add_argument("--diff", action="store_true", help="change nothing, show the changes")


def _add_explain_error(explains: argparse.ArgumentParser) -> None:
    explains.add_argument("code", nargs="?", metavar="CODE", help="for example SQ0402; all are listed if left out")


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "init": ("make a project that works: a program, data, tests", _add_init),
    "check": ("find all errors of programs, without starting Spark", _add_check),
    "compile": ("write a program's plan, or a script for Spark", _add_compile),
    "explain": ("show what the compiler makes of a program", _add_explain),
    "run": ("run the queries of a program on Spark", _add_run),
    "state": ("show what the queries of a checkpoint hold, by operators of the program", _add_state),
    "malformed": ("say which rows of a program's streams are malformed, in which file and line", _add_malformed),
    "edge": ("read a stream at its source and send it to the run, without Spark", _add_edge),
    "backfill": ("run a query over the rows that it shed, where RECOVER DROPPED kept them", _add_backfill),
    "test": ("run the tests of programs, without Spark or on it too", _add_test),
    "fmt": ("bring programs into the standard layout, in place", _add_fmt),
    "doctor": ("say whether this machine can run queries", lambda _: None),
    "explain-error": ("explain an error code, with an example", _add_explain_error),
}


def duration(text: str) -> float:
    """``20s``, ``5m``, ``1.5h``, ``300ms`` in seconds; a bare number is seconds."""
    found = re.fullmatch(_DURATION, text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no length of time such as 20s, 5m or 1h")
    return float(found.group(1)) * _SECONDS[found.group(2) or "s"]


def writable_folder(text: str) -> Path:
    """A folder that is there, or can be made."""
    path = existing = Path(text).absolute()
    while not os.path.exists(existing):
        existing = existing.parent
    if not os.path.isdir(existing):
        raise argparse.ArgumentTypeError(f"'{existing}' is no folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"'{existing}' cannot be written to")
    if existing != path:
        from streamq.runtime.disk import refuses_folders

        if reason := refuses_folders(existing):
            raise argparse.ArgumentTypeError(f"{reason}: choose another one")
    return path


def master(text: str) -> str:
    """A master that Spark knows: this machine, a standalone cluster, YARN or Kubernetes."""
    if re.fullmatch(_MASTER, text) is None:
        meant = f"did you mean spark://{text}?" if re.fullmatch(r"[^/]+:\d+", text) else "write spark://HOST:PORT, yarn, k8s://URL or local[2]"
        raise argparse.ArgumentTypeError(f"'{text}' is no master of Spark, {meant}")
    return text


def file_to_write(text: str) -> Path:
    """A file, there or not, in a folder that is there."""
    path = Path(text).absolute()
    place = path if os.path.exists(path) else path.parent
    if os.path.isdir(path) or not os.path.isdir(path.parent):
        raise argparse.ArgumentTypeError(f"'{text}' is no file in a folder that is there")
    if not os.access(place, os.W_OK):
        raise argparse.ArgumentTypeError(f"'{text}' cannot be written")
    return path


def events_path(text: str) -> str:
    """A file to write as above, or ``-``."""
    return text if text == "-" else str(file_to_write(text))


def report_path(text: str) -> Path:
    """A file for the report of a run, whose ending says its form, in a folder that is there."""
    path = Path(text)
    if path.suffix.lower() not in (".html", ".json"):
        raise argparse.ArgumentTypeError(f"'{text}' does not end in .html or .json")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder '{path.parent}' for '{text}'")
    return path


def listen_address(text: str) -> tuple[str, int]:
    """``:9108`` or ``0.0.0.0:9108``; without a host nobody but this machine can ask."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is no address such as :9108 or 0.0.0.0:9108")
    return host.strip("[]") or "127.0.0.1", int(port)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1")
    return int(text)
