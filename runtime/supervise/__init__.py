"""What to do about a query that failed: decided from facts, without Spark, files or a clock."""
