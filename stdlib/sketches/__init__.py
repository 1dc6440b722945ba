"""Sketches: what was seen, how often, and how alike, in memory that does not grow (Deng 2007, PhD thesis, University of Alberta)."""
