"""How a run went, as a page or as data."""
