"""Where MLIR's bindings look for the Python classes of a dialect, by its name."""
