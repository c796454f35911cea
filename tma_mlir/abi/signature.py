"""What a compiled kernel takes: the contract between compiler, runtime and simulator.

Imports no MLIR: a saved kernel is launched from this alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..codec import READ_DTYPE
from ..dtypes import DType
from ..plan.copy_plan import Condition
from ..plan.tensor_map import TensorMap
from .elements import element_type
from .types import Type, parse_type

ARGUMENTS = "tile.arguments"
"""On a kernel: the types of the user's arguments."""

DESCRIPTORS = "tile.descriptors"
"""On a kernel: one ``#tile.tensor_map`` for each descriptor parameter."""

BARE_POINTERS = "tile.bare_pointers"
"""On a kernel: ``KernelSignature.bare_pointers``, where it is not true."""

MAY_STORE_NOTHING = "tile.may_store_nothing"
"""On a kernel: the compiler may have seen that none of its stores stores anything, and nothing may be left of them."""

CHIP = "tile.chip"
"""On a kernel: the chip that its copies were converted for."""

ALIGNMENTS = "tile.alignments"
"""On a kernel: ``MemRefArgument.alignment`` of each user argument."""


@dataclass(frozen=True)
class MemRefArgument:
    """A tensor in global memory. ``shape`` and ``strides`` are in elements, memref order; None is dynamic.

    ``dtype``: see ``elements.element_type``. ``alignment``: bytes that the address of the allocation's element 0 is a
    multiple of, where the kernel relies on more than the element's size.
    """

    dtype: DType = field(metadata={READ_DTYPE: element_type})
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    offset: int | None = 0
    alignment: int = 1


@dataclass(frozen=True)
class ScalarArgument:
    """A number by value. ``index`` arguments are i64."""

    dtype: DType


@dataclass(frozen=True)
class PointerArgument:
    """An address in global memory (``!llvm.ptr``): a number, or an array whose first element's address is passed."""


@dataclass(frozen=True)
class ValueArgument:
    """What else is passed by value: a vector, complex number, array, struct, or an integer without a ``DType``.

    ``text``: the type as MLIR prints it, which is at once its layout (see ``types.parse_type``).
    """

    text: str

    @property
    def layout(self) -> Type:
        return parse_type(self.text)


Argument = MemRefArgument | ScalarArgument | PointerArgument | ValueArgument


@dataclass(frozen=True)
class TensorMapArgument:
    """A descriptor the host encodes: ``tensor_map`` made on the memory of user argument ``argument``.

    Expressions are over the symbols ``arg<i>.dim<d>``, ``arg<i>.stride<d>`` (elements), ``arg<i>.offset`` (elements)
    and, for scalars, ``arg<i>``. ``base_offset_bytes`` already contains the memref's own offset. ``checks`` must hold
    for the bound values.

    With ``spare`` the kernel does without the descriptor where the tensor can have none: it looks itself whether
    pitches and start are multiples of 16 bytes. The host then rounds those that are not, and encodes what nobody uses.
    """

    argument: int
    tensor_map: TensorMap
    checks: tuple[Condition, ...] = ()
    spare: bool = False


@dataclass(frozen=True)
class KernelSignature:
    """Parameters of one kernel, in the order of its ABI: descriptors first, then the user's arguments.

    With ``bare_pointers`` a memref is one pointer (to element 0 of the memref's allocation); otherwise it is expanded
    to allocated pointer, aligned pointer, offset, sizes, strides (i64 each).
    ``grid``, ``block``, ``cluster`` are what the module says, if it says so.
    """

    name: str
    tensor_maps: tuple[TensorMapArgument, ...]
    arguments: tuple[Argument, ...]
    bare_pointers: bool = True
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    dynamic_shared_bytes: int = 0
