"""Experiments of Fiscato (2012), quality-aware overload management in federated stream processing, on our code."""
