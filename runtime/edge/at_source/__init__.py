"""The process at the source of a stream: reads, sheds, keeps, sends, answers."""
