"""Fiscato (2012), quality-aware overload management in federated stream processing: its experiments on our code."""
