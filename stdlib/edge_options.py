"""The connector ``edge``: a stream whose rows come from a process at its source, over a wire that may be too narrow."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.stdlib.attributes.kinds import TRAINING_ROWS
from streamq.stdlib.options import OptionValue, Problem, fold_key
from streamq.stdlib.registry import ConnectorSpec, OptionSpec, OptionType

LEAST_BUCKET, MOST_BUCKET = 4_096, 1 << 23
"""Bytes that may go at once: a message has to fit in, and the receiver takes none that is larger."""

EDGE = ConnectorSpec(
    name="edge",
    roles=("stream",),
    options=(
        OptionSpec(
            name="folder", type=OptionType.PATH, required=True,
            doc="Where rows that came are written down; an edge that can reach the folder may write into it.",
        ),
        OptionSpec(name="listen", doc="host:port on which the run takes messages of edges over HTTP; none unless said."),
        OptionSpec(name="token", secret=True, doc="What edges and the run both know; needed with listen."),
        OptionSpec(name="token_file", type=OptionType.PATH, doc="A file that holds the token."),
        OptionSpec(name="read", type=OptionType.PATH, doc="What the edge reads: a file, or a folder of files; - is standard input."),
        OptionSpec(
            name="format", type=OptionType.CHOICE, choices=("json", "csv"), default="json",
            doc="How the rows are written that the edge reads; csv has a header line.",
        ),
        OptionSpec(name="channel", doc="The CREATE CHANNEL whose capacity the stream shares with others."),
        OptionSpec(
            name="weight", type=OptionType.FLOAT, default=1.0, least=0.001, most=1000.0,
            doc="In a channel with SPLIT WEIGHTED: twice as much sheds half as much.",
        ),
        OptionSpec(
            name="ranking", type=OptionType.CHOICE, choices=("stddev", "cv", "minmax_stddev"), default="stddev",
            doc="By what columns tell little: how much their values vary in their own unit, by their mean, or by their range.",
        ),
        OptionSpec(
            name="scope", type=OptionType.CHOICE, choices=("window", "per_key"), default="window",
            doc="Over what they vary: all rows of a cycle, or the last rows of each key, on average.",
        ),
        OptionSpec(
            name="texts", type=OptionType.CHOICE, choices=("keep", "shed"), default="keep",
            doc="Whether texts may be shed: ranked by how many different ones there are, which no deviation of numbers can be compared with.",
        ),
        OptionSpec(
            name="cycle_rows", type=OptionType.INT, least=1, most=1_000_000,
            doc="Rows after which the keys of CYCLE come again; found unless said. Without RECOVER: rows that are ranked together, 100.",
        ),
        OptionSpec(
            name="training_rows", type=OptionType.INT, default=TRAINING_ROWS, least=1, most=1_000_000,
            doc="First rows from which the cycle, and the errors of ERROR AUTO, are found.",
        ),
        OptionSpec(
            name="bucket", type=OptionType.INT, least=LEAST_BUCKET, most=MOST_BUCKET,
            doc="Bytes that may go at once after a pause; what goes in a second unless said.",
        ),
        OptionSpec(
            name="synopsis_bytes", type=OptionType.INT, default=1 << 30, least=1 << 16,
            doc="What the edge may keep of shed values; the oldest go first.",
        ),
        OptionSpec(
            name="linger", type=OptionType.DURATION, default=60_000, least=1,
            doc="After how long rows are sent that are no whole cycle.",
        ),
        OptionSpec(
            name="wait", type=OptionType.DURATION, default=10_000, least=0,
            doc="How long rows wait for their recovered values; then they go without.",
        ),
        OptionSpec(
            name="keep", type=OptionType.DURATION, default=7 * 86_400_000, least=1,
            doc="How long rows that came stay in the folder.",
        ),
        OptionSpec(
            name="max_files_per_trigger", type=OptionType.INT, least=1,
            doc="How many files of rows a micro-batch takes at most; all of them unless said.",
        ),
    ),
    doc="Rows that `streamq edge` reads at their source and sends, perhaps with fewer columns.",
)


def check_edge(found: dict[str, OptionValue], given: Mapping[str, OptionValue], problems: list[Problem]) -> None:
    """What the options of an edge contradict."""
    named = {fold_key(key): key for key in given}
    if "listen" in found and address(str(found["listen"])) is None:
        message = f"option `listen` must be a host and a port, not '{found['listen']}'"
        problems.append(Problem("SQ0703", named["listen"], message, "write listen = '127.0.0.1:8472'"))
    if "listen" in found and "token" not in named and "token_file" not in found:
        message = "option `listen` needs a token: whoever reaches the port could send rows"
        problems.append(Problem("SQ0702", named["listen"], message, "add token_file = 'edge.token', and keep the file to yourself"))
    if "token" in found and "token_file" in found:
        message = "options `token` and `token_file` exclude each other"
        problems.append(Problem("SQ0703", named["token"], message, "keep token_file"))


def address(text: str) -> tuple[str, int] | None:
    """A host and a port; without a host only this machine can reach it. None for anything else."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        return None
    return host.strip("[]") or "127.0.0.1", int(port)
