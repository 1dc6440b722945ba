"""What is kept of attributes that are shed, so that their values can be asked for later (Ahuja 2006, MSc thesis, BYU)."""
