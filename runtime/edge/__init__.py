"""The source site of a stream whose wire is too narrow: sheds attributes, and keeps what recovers them. Without Spark."""
