"""``streamq init``: a project that works: a program, data for it, tests, and what to do with them."""

from __future__ import annotations

from pathlib import Path

from streamq.runtime.arguments import Arguments
from streamq.runtime.output import OK, UsageError, make_folder, print_text, write

PROGRAM = """\
-- How busy each page is, told every ten minutes.

CREATE STREAM visit (
  visitor STRING NOT NULL,
  page STRING,
  ms INT,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 1 MINUTE
)
WITH (connector = 'file', path = 'visits');

CREATE QUERY busy AS
  SELECT WINDOW_END AS until, page, COUNT(*) AS visits, AVG(ms) AS mean_ms
  FROM visit [TUMBLE 10 MINUTES]
  GROUP BY page;
"""

VISITS = """\
{"visitor": "ann", "page": "home", "ms": 120, "at": "2024-05-06 09:00:10"}
{"visitor": "bob", "page": "home", "ms": 80, "at": "2024-05-06 09:03:40"}
{"visitor": "ann", "page": "shoes", "ms": 300, "at": "2024-05-06 09:08:30"}
{"visitor": "eve", "page": "home", "ms": 100, "at": "2024-05-06 09:12:00"}
{"visitor": "eve", "page": "cart", "ms": 250, "at": "2024-05-06 09:19:00"}
{"visitor": "bob", "page": "home", "ms": 90, "at": "2024-05-06 09:25:00"}
"""

TESTS = """\
- test: visits are counted by page and ten minutes
  input:
    visit:
      columns: [visitor, page, ms, at]
      rows:
        - [ann, home, 100, 2024-05-01 10:00:00]
        - [bob, home, 200, 2024-05-01 10:09:59]
        - [ann, cart, 400, 2024-05-01 10:10:00]
  expect:
    busy:
      columns: [until, page, visits, mean_ms]
      rows:
        - [2024-05-01 10:10:00, home, 2, 150]
        - [2024-05-01 10:20:00, cart, 1, 400]

- test: a visit that comes when its ten minutes are over is not counted
  watermark: true
  input:
    visit:
      - {visitor: ann, page: home, ms: 100, at: 2024-05-01 10:12:00}
      - batch
      - {visitor: bob, page: home, ms: 200, at: 2024-05-01 10:09:59}
  expect:
    busy:
      columns: [until, page, visits, mean_ms]
      rows:
        - [2024-05-01 10:20:00, home, 1, 100]
"""

README = """\
# {name}

A StreamQ project: a continuous query over files that come into the folder `visits`.

```sh
streamq check program.cql         # all errors, without starting Spark
streamq test                      # program.test.yaml, without Spark too
streamq explain program.cql       # what the compiler makes of it
streamq run program.cql --once    # on Spark: what is in visits now
streamq run program.cql --checkpoint state    # until Ctrl-C; goes on there after a restart
```

The last window is not answered yet: it is over when a visit has come that is a minute past its end. Add a file with later
visits to `visits`, and run it again.

Next: another stream in place of `visit`, a sink for the answers (`CREATE SINK … WITH (connector = 'file', …)`), and what may be
left out when too much comes (`QOS LATENCY 5 SECONDS SHED RANDOM`).
"""

IGNORED = """\
# Where runs keep their place, reports, and what they write.
/state/
/out/
*.html
__pycache__/
"""

FILES = {
    "program.cql": PROGRAM,
    "program.test.yaml": TESTS,
    "visits/monday.jsonl": VISITS,
    "README.md": README,
    ".gitignore": IGNORED,
}

OF_A_REPOSITORY = (".git", ".gitattributes", ".gitignore", "LICENSE", "LICENSE.md", "LICENSE.txt", "README.md")
"""What a new repository may hold; a project can be made around it."""


def init(args: Arguments) -> int:
    """Writes the project into a folder that is new, or holds no more than a new repository; says what to do next.

    A file that is there stays as it is.
    """
    folder: Path = args.folder
    if folder.is_dir():
        if found := sorted(entry.name for entry in folder.iterdir() if entry.name not in OF_A_REPOSITORY):
            raise UsageError(f"{folder} is not empty, it holds {found[0]}: name a new folder")
    elif folder.exists():
        raise UsageError(f"{folder} is a file: name a new folder")
    kept = [name for name in FILES if (folder / name).exists() or (folder / name).is_symlink()]
    made = [name for name in FILES if name not in kept]
    for name in made:
        path = folder / name
        make_folder(path.parent)
        write(path, FILES[name].replace("{name}", folder.absolute().name))
    print_text(
        f"{folder}: {', '.join(made)}\n"
        + (f"left as it was: {', '.join(kept)}\n" if kept else "")
        + "Next:\n"
        + ("" if folder.absolute() == Path.cwd() else f"  cd {folder}\n")
        + "  streamq test\n"
        "  streamq run program.cql --once"
    )
    return OK
