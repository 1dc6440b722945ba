"""StreamQ: continuous queries that say what they are worth, on Spark Structured Streaming."""
