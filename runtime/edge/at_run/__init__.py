"""The run's side of all edges: takes messages, asks, lands rows, splits channels."""
