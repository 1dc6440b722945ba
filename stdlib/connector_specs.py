"""The declarations of the connectors: where streams and tables come from, where results go.

A name may stand for several declarations with different roles (``file`` reads and writes); take
the one of a role from ``connectors.find_connector``.
"""

from __future__ import annotations

from streamq.stdlib.edge_options import EDGE
from streamq.stdlib.kafka_options import KAFKA_SINK, KAFKA_STREAM
from streamq.stdlib.registry import ConnectorSpec, OptionSpec, OptionType
from streamq.stdlib.sink_options import DELTA, DUCKDB, ICEBERG, POSTGRES, WEBHOOK
from streamq.stdlib.written import TIME_OUT

_FORMATS = ("json", "csv", "parquet")

# --- files ---------------------------------------------------------------------------------------

_PATH = OptionSpec(
    name="path",
    type=OptionType.PATH,
    required=True,
    doc="A file, a folder, or a pattern; relative to the program's folder.",
)
_FORMAT = OptionSpec(
    name="format",
    type=OptionType.CHOICE,
    choices=_FORMATS,
    doc="How rows are written; by the path's ending unless said, else json, one object per line.",
)
_TEXT = (
    OptionSpec(
        name="header",
        type=OptionType.BOOL,
        default=True,
        doc="csv: whether the first line of a file holds the column names.",
    ),
    OptionSpec(name="delimiter", default=",", doc="csv: what stands between two fields."),
    OptionSpec(name="quote", default='"', doc="csv: what encloses a field that holds a delimiter."),
    OptionSpec(
        name="escape", doc="csv: what stands before a quote inside quotes; a backslash unless said."
    ),
    OptionSpec(
        name="null_value", doc="csv: the text that stands for NULL; an empty field always does."
    ),
    OptionSpec(
        name="timestamp_format",
        doc="csv, json: how a TIMESTAMP is written: 'yyyy-MM-dd HH:mm:ss'; ISO unless said.",
    ),
    OptionSpec(
        name="date_format",
        doc="csv, json: how a DATE is written: 'dd.MM.yyyy'; ISO unless said.",
    ),
    OptionSpec(
        name="encoding", doc="csv, json: the character set of the files; UTF-8 unless said."
    ),
)
_READ = (
    OptionSpec(
        name="multi_line",
        type=OptionType.BOOL,
        default=False,
        doc="csv, json: whether a row may go over several lines.",
    ),
    OptionSpec(name="glob", doc="Only files of a folder whose name matches, such as '*.json'."),
    OptionSpec(
        name="recursive",
        type=OptionType.BOOL,
        default=False,
        doc="Whether folders inside the folder are read too.",
    ),
)
_FOLLOW = (
    OptionSpec(
        name="on_error",
        type=OptionType.CHOICE,
        choices=("count", "fail"),
        default="count",
        doc="csv, json: malformed rows are counted and left out, or end the run.",
    ),
    OptionSpec(name="comment", doc="csv: lines that begin with this character are passed over."),
    OptionSpec(
        name="max_files_per_trigger",
        type=OptionType.INT,
        least=1,
        doc="How many new files a micro-batch takes at most; all of them unless said.",
    ),
    OptionSpec(
        name="max_bytes_per_trigger",
        type=OptionType.INT,
        least=1,
        doc="How many bytes of new files a micro-batch takes at most.",
    ),
    OptionSpec(
        name="latest_first",
        type=OptionType.BOOL,
        default=False,
        doc="Whether the newest files come first when there is a backlog.",
    ),
    OptionSpec(
        name="max_file_age",
        type=OptionType.DURATION,
        least=1,
        doc="Files older than this, against the newest one, are passed over; 7 days unless said.",
    ),
)
_TEXT_OUT = tuple(TIME_OUT if option.name == TIME_OUT.name else option for option in _TEXT)
_WRITE = (
    OptionSpec(name="partition_by", doc="Columns, with commas, whose values become folders."),
    OptionSpec(
        name="compression",
        type=OptionType.CHOICE,
        choices=("none", "gzip", "snappy", "zstd"),
        doc="How files are packed: parquet snappy, else none unless said; zstd only for parquet.",
    ),
)

FILE_STREAM = ConnectorSpec(
    name="file",
    roles=("stream",),
    options=(_PATH, _FORMAT, *_TEXT, *_READ, *_FOLLOW),
    doc="Files of a folder that may grow, each read once; a file must appear whole.",
)
FILE_TABLE = ConnectorSpec(
    name="file",
    roles=("table",),
    options=(_PATH, _FORMAT, *_TEXT, *_READ),
    doc="Files that do not change during a run; a malformed row ends it.",
)
FILE_SINK = ConnectorSpec(
    name="file",
    roles=("sink",),
    options=(_PATH, _FORMAT, *_TEXT_OUT, *_WRITE),
    modes=("append",),
    guarantee="exactly once",
    doc="A folder of files, with a log of those that count.",
)

# --- generators ----------------------------------------------------------------------------------

RATE = ConnectorSpec(
    name="rate",
    roles=("stream",),
    options=(
        OptionSpec(
            name="rows_per_second",
            type=OptionType.INT,
            default=1,
            least=1,
            doc="How many rows come per second.",
        ),
        OptionSpec(
            name="ramp_up_time",
            type=OptionType.DURATION,
            least=0,
            doc="How long it takes to reach that rate, in whole seconds.",
        ),
        OptionSpec(
            name="num_partitions", type=OptionType.INT, least=1, doc="How many tasks make the rows."
        ),
    ),
    columns={"": (("value", "BIGINT"), ("timestamp", "TIMESTAMP"))},
    doc="A counter from 0 with the time at which each row was due; timestamp may be called ts.",
)

_PERSON = (
    ("id", "BIGINT"),
    ("name", "STRING"),
    ("emailAddress", "STRING"),
    ("creditCard", "STRING"),
    ("city", "STRING"),
    ("state", "STRING"),
    ("dateTime", "TIMESTAMP"),
    ("extra", "STRING"),
)
_AUCTION = (
    ("id", "BIGINT"),
    ("itemName", "STRING"),
    ("description", "STRING"),
    ("initialBid", "BIGINT"),
    ("reserve", "BIGINT"),
    ("dateTime", "TIMESTAMP"),
    ("expires", "TIMESTAMP"),
    ("seller", "BIGINT"),
    ("category", "BIGINT"),
    ("extra", "STRING"),
)
_BID = (
    ("auction", "BIGINT"),
    ("bidder", "BIGINT"),
    ("price", "BIGINT"),
    ("channel", "STRING"),
    ("url", "STRING"),
    ("dateTime", "TIMESTAMP"),
    ("extra", "STRING"),
)


def _struct(columns: tuple[tuple[str, str], ...]) -> str:
    return f"STRUCT<{', '.join(f'{name}: {t}' for name, t in columns)}>"


NEXMARK = ConnectorSpec(
    name="nexmark",
    roles=("stream",),
    options=(
        OptionSpec(
            name="table",
            type=OptionType.CHOICE,
            required=True,
            choices=("person", "auction", "bid", "event"),
            doc="Which events come; 'event' is all of them, told apart by event_type 0, 1, 2.",
        ),
        OptionSpec(
            name="rate",
            type=OptionType.INT,
            default=10_000,
            least=1,
            doc="Events per second, of all kinds: 46 in 50 are bids, 3 auctions, 1 a person.",
        ),
        OptionSpec(
            name="shape",
            type=OptionType.CHOICE,
            choices=("constant", "square", "sine"),
            default="constant",
            doc="How the rate moves between rate and peak_rate.",
        ),
        OptionSpec(
            name="peak_rate",
            type=OptionType.INT,
            least=1,
            doc="square, sine: the other rate, events per second; ten times rate unless said.",
        ),
        OptionSpec(
            name="period",
            type=OptionType.DURATION,
            default=600_000,
            least=1,
            doc="square, sine: how long one turn takes.",
        ),
        OptionSpec(
            name="events",
            type=OptionType.INT,
            default=0,
            least=0,
            doc="How many events there are, of all kinds; 0 never ends.",
        ),
        OptionSpec(
            name="seed", type=OptionType.INT, default=0, doc="Equal seeds make equal events."
        ),
        OptionSpec(
            name="start",
            default="2015-07-15 00:00:00",
            doc="The event time of the first event, in UTC.",
        ),
        OptionSpec(
            name="out_of_order_group",
            type=OptionType.INT,
            default=1,
            least=1,
            most=1_000_000,
            doc="Events are shuffled within groups of this size; 1 keeps their order.",
        ),
        OptionSpec(
            name="delay_probability",
            type=OptionType.FLOAT,
            default=0.0,
            least=0.0,
            most=1.0,
            doc="The share of events whose time lies up to delay before the others'.",
        ),
        OptionSpec(
            name="delay",
            type=OptionType.DURATION,
            default=3_000,
            least=1,
            doc="How late a delayed event is at most.",
        ),
        OptionSpec(
            name="max_events_per_trigger",
            type=OptionType.INT,
            least=1,
            doc="How many events a micro-batch takes at most.",
        ),
        OptionSpec(
            name="num_partitions", type=OptionType.INT, least=1, doc="How many tasks make the rows."
        ),
    ),
    columns={
        "person": _PERSON,
        "auction": _AUCTION,
        "bid": _BID,
        "event": (
            ("event_type", "INT"),
            ("person", _struct(_PERSON)),
            ("auction", _struct(_AUCTION)),
            ("bid", _struct(_BID)),
            ("dateTime", "TIMESTAMP"),
        ),
    },
    doc="The auction site of the NEXMark benchmark, made up at the offered rate. A program may "
    "declare some of the columns, dateTime as ts, and whole numbers as wider types.",
)

# --- memory and screen ---------------------------------------------------------------------------

MEMORY_SOURCE = ConnectorSpec(
    name="memory",
    roles=("stream", "table"),
    doc="Rows that a test hands over, one micro-batch at a time.",
)
MEMORY_SINK = ConnectorSpec(
    name="memory",
    roles=("sink",),
    modes=("append", "update"),
    guarantee="kept for the run only",
    doc="Rows that a test reads back.",
)
CONSOLE = ConnectorSpec(
    name="console",
    roles=("sink",),
    options=(
        OptionSpec(
            name="num_rows",
            type=OptionType.INT,
            default=20,
            least=1,
            doc="How many rows of a micro-batch are printed.",
        ),
        OptionSpec(
            name="truncate", type=OptionType.BOOL, default=True, doc="Whether long values are cut."
        ),
    ),
    modes=("append", "update"),
    guarantee="at least once: after a restart the last batch may be printed again",
    doc="The screen.",
)
NOOP = ConnectorSpec(
    name="noop",
    roles=("sink",),
    modes=("append", "update"),
    guarantee="nothing is kept",
    doc="Throws the rows away: to measure a query.",
)

CONNECTORS: tuple[ConnectorSpec, ...] = (
    FILE_STREAM,
    FILE_TABLE,
    KAFKA_STREAM,
    EDGE,
    RATE,
    NEXMARK,
    MEMORY_SOURCE,
    CONSOLE,
    FILE_SINK,
    KAFKA_SINK,
    POSTGRES,
    DUCKDB,
    WEBHOOK,
    DELTA,
    ICEBERG,
    MEMORY_SINK,
    NOOP,
)

SPARK_OPTIONS: dict[str, str] = {
    "header": "header",
    "delimiter": "sep",
    "quote": "quote",
    "escape": "escape",
    "comment": "comment",
    "encoding": "encoding",
    "null_value": "nullValue",
    "timestamp_format": "timestampFormat",
    "date_format": "dateFormat",
    "multi_line": "multiLine",
    "glob": "pathGlobFilter",
    "recursive": "recursiveFileLookup",
    "max_files_per_trigger": "maxFilesPerTrigger",
    "max_bytes_per_trigger": "maxBytesPerTrigger",
    "latest_first": "latestFirst",
    "compression": "compression",
    "max_file_age": "maxFileAge",
    "rows_per_second": "rowsPerSecond",
    "ramp_up_time": "rampUpTime",
    "num_partitions": "numPartitions",
    "num_rows": "numRows",
    "truncate": "truncate",
}
"""Option to the key that Spark's readers and writers have for it.

The rest (path, format, on_error, partition_by) are methods or modes of their own.
"""

SPARK_UNITS = {"max_file_age": ("ms", 1), "ramp_up_time": ("s", 1000)}
"""Options that are milliseconds here: the unit that Spark has them in, ``'…s'``, and how many milliseconds that is."""
