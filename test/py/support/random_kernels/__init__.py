"""Random whole kernels: MLIR text, arguments, and what the arguments are afterwards by definition.

The definition is index arithmetic in NumPy and shares no code with the planner, the lowering or the simulator.
"""

from .kernel import RandomKernel as RandomKernel
from .kernel import random_kernel as random_kernel
