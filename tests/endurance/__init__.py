"""Long trials of a run as it is in production: memory over time, and processes that are killed. Run by hand, each says how."""
