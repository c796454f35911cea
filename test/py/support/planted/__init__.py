"""Right kernels, and bugs planted in them: each one edit away from a kernel of this folder."""

from .bug import FOLDER, Bug
from .kernels import KERNELS
from .layouts import CLUSTERS, LAYOUTS
from .memory import GLOBAL, SHARED
from .rings import RING
from .stores import STORES

__all__ = ["BUGS", "FOLDER", "KERNELS", "Bug"]

BUGS = (*RING, *STORES, *GLOBAL, *SHARED, *CLUSTERS, *LAYOUTS)
