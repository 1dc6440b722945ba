"""``streamq run --report``: how a run went, as a page or as data."""
