"""The short commands, which need no Spark.

They import what they need when they run: ``check`` must not wait for what only ``explain`` uses.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from streamq.runtime.arguments import Arguments
from streamq.runtime.output import (
    OK,
    PROGRAM_ERROR,
    UsageError,
    load,
    make_folder,
    print_line,
    print_text,
    show,
    write,
)

if TYPE_CHECKING:
    from streamq.compiler.driver import CompileResult
    from streamq.compiler.ir.physical import PhysicalPlan
    from streamq.runtime.programs import Loaded


def show_version() -> int:
    from importlib.metadata import version

    print(f"streamq {version('streamq')}")
    return OK


def check(args: Arguments) -> int:
    """All errors of programs, and missing paths and columns, without starting Spark."""
    from streamq.runtime.programs import load_program

    programs = [load_program(name) for name in args.files]
    if args.format == "json":
        import json

        from streamq.dsl.visible import escaped

        files = [_program_json(program) for program in programs]
        print(escaped(json.dumps({"version": 1, "files": files}, ensure_ascii=False, indent=2)))
    else:
        for program in programs:
            concise = args.format == "concise"
            show(program.diagnostics, program.sources, concise=concise, err=False)
            if program.ok and not concise:
                count = len(_queries(program))
                print_line(f"{program.name}: ok, {count} {'query' if count == 1 else 'queries'}")
    return OK if all(program.ok for program in programs) else PROGRAM_ERROR


def compile_file(args: Arguments) -> int:
    """The physical plan as JSON, a script for Spark, or the plan of an edge; or how it fits a checkpoint."""
    from streamq.compiler.explain import render
    from streamq.compiler.explain.pyspark_source import refusals, to_pyspark
    from streamq.compiler.explain.submit_source import to_submit

    # What is written as a program imports the functions when somebody runs it.
    program = load(args.file, functions=args.allow_functions if args.emit == "pyspark" else None)
    if program.result is None or not program.ok:
        return PROGRAM_ERROR
    if args.check_against is not None:
        from streamq.runtime.evolution_command import check_against

        return check_against(program, args.check_against, as_json=args.format == "json")
    if args.emit == "pipelines":
        return _write_pipelines(program, args.output)
    if args.emit == "pyspark":
        plan = program.result.require()
        if refused := refusals(plan):
            show(refused, program.sources)
            return PROGRAM_ERROR
        text = to_pyspark(plan, name=Path(program.name).stem)
    elif args.emit == "submit":
        text = to_submit(program.sources, program.name)
    elif args.emit == "edge":
        text = _edge_plan(program.result.require(), args.stream)
    else:
        text = render(program.result, stage="physical", format="json")
    if args.output is None:
        print_text(text)
        return OK
    write(args.output, text if text.endswith("\n") else f"{text}\n")
    return OK


def _write_pipelines(program: Loaded, folder: Path | None) -> int:
    """A project of Spark Declarative Pipelines in that folder."""
    from streamq.compiler.explain.pipelines_source import refusals, to_pipelines

    assert program.result is not None
    plan = program.result.require()
    refused = refusals(plan)
    show(refused, program.sources)
    if folder is None:
        raise UsageError("--emit pipelines writes a folder: name it with -o DIR")
    if refused:
        return PROGRAM_ERROR
    storage = (folder.absolute() / "pipeline-storage").as_uri()
    files = to_pipelines(plan, Path(program.name).stem, str(Path(plan.base_dir).absolute()), storage)
    for name, text in files.items():
        make_folder((folder / name).parent)
        write(folder / name, text)
    return OK


def _edge_plan(plan: PhysicalPlan, stream: str | None) -> str:
    """The plan of an edge, without its token."""
    import json

    from streamq.runtime.edge.at_run.compiled import edge_plan
    from streamq.runtime.edge.plan import BadPlan
    from streamq.runtime.edge.plan_file import to_json
    from streamq.runtime.edge_command import chosen

    try:
        plan_of_edge = edge_plan(chosen(plan.edges, stream), plan.edges)
        return json.dumps(to_json(plan_of_edge, token=False), indent=2)
    except BadPlan as error:
        raise UsageError(str(error)) from error


def explain(args: Arguments) -> int:
    """The program at one stage of the compiler; shown as far as it goes where there are errors."""
    from streamq.compiler.explain import ExplainUnavailable, render, render_shedding

    program = load(args.file)
    if program.result is None:
        return PROGRAM_ERROR
    try:
        if args.shed:
            if args.query is not None or (args.stage, args.format) != ("annotated", "text"):
                raise UsageError("--shed looks at all queries, as text: leave --query, --stage and --format out")
            if args.picture is not None and args.checkpoint is None:
                raise UsageError("--picture needs --checkpoint: a sifter is there when a run has built it")
            print_text(render_shedding(program.result))
            if args.checkpoint is not None:
                _show_sifters(program.result, args.checkpoint, args.picture)
                _show_joins(program.result, args.checkpoint)
        elif args.checkpoint is not None or args.picture is not None:
            raise UsageError("--checkpoint and --picture need --shed")
        else:
            print_text(render(program.result, args.stage, args.format, args.query))
    except ValueError as error:
        raise UsageError(str(error)) from error
    except ExplainUnavailable:
        return PROGRAM_ERROR
    return OK if program.result.ok else PROGRAM_ERROR


def _show_sifters(result: CompileResult, checkpoint: Path, folder: Path | None) -> None:
    """The sifters of a run; those of two attributes as pictures too, where a folder is given."""
    from streamq.runtime.checkpoint import folder_of
    from streamq.runtime.report.sifted import picture, running, table

    if folder is not None:
        make_folder(folder)
    for query in result.plan.queries if result.plan is not None else ():
        sift = next((c.sift for c in query.controls if c.sift is not None), None)
        if sift is None:
            continue
        found = running(folder_of(checkpoint, query.name), sift)
        print_text(f"\n{query.name}: " + ("no sifter yet: rows go at random" if found is None else table(found)))
        if found is not None and folder is not None and len(sift.attributes) == 2:
            path = folder_of(folder, query.name).with_suffix(".svg")
            write(path, picture(found))
            print_text(f"  drawn: {path}")


def _show_joins(result: CompileResult, checkpoint: Path) -> None:
    """Where the joins of a run that select have found their pairs."""
    from streamq.runtime.checkpoint import folder_of
    from streamq.runtime.control.joining import selecting, stored
    from streamq.runtime.report.joined import table

    for query in result.plan.queries if result.plan is not None else ():
        if selecting(query) is not None:
            found = stored(folder_of(checkpoint, query.name), query.name)
            print_text(f"\n{query.name}: " + ("its join has told nothing yet" if found is None else f"pairs of its join\n{table(found)}"))


def fmt(args: Arguments) -> int:
    """Formats files in place, or standard input to standard output."""
    from streamq.runtime.formatting import format_file

    dry = args.check or args.diff
    worst = OK
    for name in args.files:
        result = format_file(name, write=not dry)
        show(result.diagnostics, result.sources)
        if result.failed:
            worst = PROGRAM_ERROR
            continue
        if name == "-" and not dry:
            sys.stdout.write(result.text)
        if not (result.changed and dry):
            continue
        worst = PROGRAM_ERROR
        if args.diff:
            sys.stdout.write(result.diff())
        if args.check:
            print_line(f"{name}: would be formatted")
    return worst


def doctor(args: Arguments) -> int:
    """Whether this machine can run queries."""
    from streamq.runtime.doctor import examine

    healthy = True
    for item in examine():
        healthy = healthy and not item.problem
        print(f"{'BAD ' if item.problem else 'ok  '} {item.name:<14} {item.found}")
        if item.problem:
            print(f"{'':<19} {item.problem}")
    return OK if healthy else PROGRAM_ERROR


def explain_error(args: Arguments) -> int:
    """The page of an error code where the documentation is at hand, else its title; without a code, all titles."""
    from streamq.dsl.codes import CODES
    from streamq.dsl.diagnostics import did_you_mean

    if args.code is None:
        print_text("\n".join(f"{code}: {title}" for code, title in CODES.items()))
        return OK
    code = args.code.upper()
    if code not in CODES:
        hint = did_you_mean(code, CODES)
        raise UsageError(f"unknown code {args.code}{', ' if hint else ''}{hint}; `streamq explain-error` lists all, as docs/errors/README.md does")
    page = Path(__file__).resolve().parent.parent / "docs" / "errors" / f"{code}.md"
    print_text(page.read_text("utf-8") if page.is_file() else f"{code}: {CODES[code]}")
    return OK


def _program_json(program: Loaded) -> dict[str, object]:
    return {
        "file": program.name,
        "ok": program.ok,
        "queries": _queries(program),
        "diagnostics": [d.to_dict(program.sources) for d in program.diagnostics],
    }


def _queries(program: Loaded) -> list[str]:
    """The names of the program's queries; none where it has errors."""
    plan = program.result.plan if program.result is not None else None
    return [query.name for query in plan.queries] if plan is not None else []
