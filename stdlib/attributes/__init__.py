"""Attribute shedding: under overload whole attributes are dropped, those that vary least first (Ahuja 2006)."""
