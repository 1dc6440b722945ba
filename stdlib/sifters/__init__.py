"""Sifters: filters at a source with a drop threshold for each region of its attributes (Gedik, Wu, Yu: nrSifters)."""
