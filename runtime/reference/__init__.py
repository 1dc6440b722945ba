"""The executable meaning of the language: bound programs over finite input, straight from CQL's definitions."""
