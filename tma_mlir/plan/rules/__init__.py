"""What the hardware and the driver demand of a copy, one function a rule.

Every rule answers with a ``Condition`` whose finding is PROVEN, DISPROVEN or UNKNOWN. An UNKNOWN condition
can be tested at run time: on the host if its symbols are known there, in the kernel otherwise.
"""

from .answers import *
from .encoding import *
from .execution import *
from .explicit import *
from .other_ways import *
from .packed import *
from .row_modes import *
