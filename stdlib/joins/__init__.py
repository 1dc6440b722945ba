"""Window joins that compare each row with a chosen fraction of the other window (Gedik, Wu, Yu, Liu 2007)."""
