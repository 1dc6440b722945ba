"""Writes the data of this example: what a crawler fetched in twenty minutes, one JSON-lines file for each minute.

The crawl and the titles that Deng 2007 measured (chapters 3 and 5: the thesis) cannot be had; these are made to look like
them: three of four fetches are of a new URL, what is fetched again was mostly fetched not long before, and words of titles
follow a Zipf law. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from streamq.stdlib.sketches.hashing import mix64, row_seed
from streamq.stdlib.sketches.lookalike import crawl, zipf_shares
from streamq.stdlib.sketches.titles import titles

DATA = Path(__file__).parent / "data"
START = datetime(2024, 5, 1, 10, tzinfo=UTC)
MINUTES, PER_MINUTE = 20, 1_500
NEW = 0.7566
"""The share of new URLs in the first 100,000 of the thesis's crawl."""

HOSTS, HOST_SKEW = 2_000, 0.9
HASHES = 6


def prepare(folder: Path, minutes: int = MINUTES, seed: int = 0) -> int:
    """Writes ``crawl/00.json``, … below ``folder``, in order of time; returns the rows.

    What an earlier run left in the folder is removed, results included. A page has one host and one title, whenever
    it is fetched.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "crawl").mkdir(parents=True)
    urls = crawl(minutes * PER_MINUTE, NEW, seed=seed)
    pages, page = np.unique(urls, return_inverse=True)
    # Which host a page has follows from its fingerprint.
    drawn = mix64(pages ^ row_seed(seed, 1)) / 2.0**64
    host = np.searchsorted(np.cumsum(zipf_shares(HOSTS, HOST_SKEW)), drawn)
    names = [
        f"http://host{h:04}.example/{p:016x}"
        for h, p in zip(host.tolist(), pages.tolist(), strict=True)
    ]
    hashes = titles(len(pages), n_attrs=HASHES, seed=seed).values.view(np.int64).tolist()
    columns = [f"h{i}" for i in range(1, HASHES + 1)]
    step = 60 / PER_MINUTE
    for minute in range(minutes):
        lines = []
        for i in range(minute * PER_MINUTE, (minute + 1) * PER_MINUTE):
            at = datetime.fromtimestamp(START.timestamp() + i * step, UTC)
            row = {"url": names[page[i]], "fetched": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
            lines.append(json.dumps(row | dict(zip(columns, hashes[page[i]], strict=True))))
        file = folder / "crawl" / f"{minute:02}.json"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # A stream over a folder takes the oldest file first.
        stamp = START.timestamp() + 60 * (minute + 1)
        os.utime(file, (stamp, stamp))
    return len(urls)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the data of the crawl example.")
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where (default: data/)")
    parser.add_argument("--minutes", type=int, default=MINUTES, help="of event time (default: 20)")
    args = parser.parse_args()
    print(f"{prepare(args.folder, args.minutes):,} fetches in {args.folder / 'crawl'}")
