"""The simulator: lowered kernels in NumPy, with the TMA engine of an H200 and checks for hangs and races."""

from .errors import Finding, SimulationError, UnsupportedError

__all__ = ["Finding", "SimulationError", "UnsupportedError"]
