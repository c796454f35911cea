"""A wall between the host and MLIR: child processes whose death is an error with its place, and not the end."""
