"""A program as a script for ``spark-submit`` that brings all of StreamQ's run along: goals, reports, restarts."""

from __future__ import annotations

import posixpath

from streamq.compiler.explain.script import literal
from streamq.dsl.source import SourceMap

_SCRIPT = '''"""{name}: written by `streamq compile --emit submit`.

Run it where StreamQ is installed, or with its wheel:
    spark-submit --master URL --py-files streamq-VERSION-py3-none-any.whl {script} --checkpoint DIR
The options are those of `streamq run`; --base DIR is the folder that relative paths start from.
"""

from __future__ import annotations

from streamq.runtime.submitted import main

FILES = {{
{files}}}

if __name__ == "__main__":
    main(FILES)
'''


def to_submit(sources: SourceMap, program: str) -> str:
    """The script. ``sources``: all files of the program; ``program``: the name of the first."""
    folder, name = posixpath.split(program.replace("\\", "/"))
    texts = {posixpath.relpath(key.replace("\\", "/"), folder or "."): file.text for key, file in sources.files.items()}
    ordered = {name: texts.pop(name), **texts}
    shown = name.replace("\\", "/").replace('"', "'")
    return _SCRIPT.format(
        name=shown, script=f"{posixpath.splitext(shown)[0]}.py",
        files="".join(f"    {literal(key)}: {literal(text)},\n" for key, text in ordered.items()),
    )
