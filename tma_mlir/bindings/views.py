"""What classes of operations are made with, from the chosen bindings."""

from typing import Any

from . import dialects

_common: Any = dialects.__getattr__("_ods_common")

_cext, segmented_accessor = _common._cext, _common.segmented_accessor
