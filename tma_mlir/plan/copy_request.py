"""What the planner is asked: one copy between a region of a global tensor and a tile in shared memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..chips import DEFAULT_CHIP
from ..codec import ALWAYS
from ..dtypes import DType
from ..layout.expr import Expr
from ..layout.layout import AddressSwizzle, Layout
from ..layout.swizzle import Swizzle
from .enums import Direction, Scope, Variant
from .hashing import hash_once
from .tensor_map import L2Promotion, OobFill


@dataclass(frozen=True)
class Region:
    """A box of a tensor: first element and extent per logical dimension (memref order). Extents are static."""

    starts: tuple[Expr | int, ...]
    extents: tuple[int, ...]


@dataclass(frozen=True)
class ExplicitDescriptor:
    """A tensor map and start the user wrote, in memref order (outermost first), for exactly one instruction.

    ``dims``, ``box`` and ``starts`` are in elements of the copy's type; ``strides`` too, the last one 1. ``offset`` is
    the described tensor's first element, counted from the global tensor's base. It is checked, never repaired.
    """

    dims: tuple[Expr | int, ...]
    strides: tuple[Expr | int, ...]
    box: tuple[int, ...]
    starts: tuple[Expr | int, ...]
    swizzle: Swizzle = Swizzle.NONE
    offset: Expr | int = 0


@dataclass(frozen=True)
class Tile:
    """A box of the tensor at one start. ``explicit``: the descriptor of a ``tma_explicit`` copy."""

    explicit: ExplicitDescriptor | None = None


@dataclass(frozen=True)
class Gather:
    """The four ``rows`` of a gather (load) or scatter (store); the global region is then (first row, column)."""

    rows: tuple[Expr | int, ...]


@dataclass(frozen=True)
class Im2colWalk:
    """How an im2col copy walks a tensor N(D)(H)WC: corners, strides and offsets of its spatial dimensions, in memref
    order (D, H, W). The global region starts at the first pixel and its channel; its last two extents are the pixels
    and the channels.

    The pixels are those of the bounding box ``lower_corner .. extent - 1 + upper_corner`` from the region's start on,
    ``traversal_strides`` apart, W fastest, then H, D, N. ``filter_offsets`` are added to each pixel's place only. With
    ``wide`` (``w``, ``w_128``) the box has the dimension W alone, and the offsets are the halo and that of W.
    """

    lower_corner: tuple[int, ...]
    upper_corner: tuple[int, ...]
    traversal_strides: tuple[int, ...]
    filter_offsets: tuple[Expr | int, ...]
    wide: str = ""


@dataclass(frozen=True)
class CopyRequest:
    """One copy. The two regions have the same number of elements, matched in row-major order of their extents
    with unit extents ignored.

    ``global_shape``: logical extents of the global tensor, elements outside of which are filled (loads) or
    dropped (stores). ``global_layout`` and ``shared_layout`` map a row-major logical index over the tensor's shape
    to an element offset. ``shared_swizzle`` acts on the byte address of the shared tile, whose base is aligned to the
    swizzle's period. ``shared_base_alignment_bytes`` is a known alignment of the tile's own start, for tiles that
    the compiler does not place (None: the compiler places it).
    ``global_alignment_bytes``: what is known of the global tensor's base address.
    """

    dtype: DType
    direction: Direction
    global_shape: tuple[Expr | int, ...]
    global_layout: Layout
    global_region: Region
    shared_shape: tuple[int, ...]
    shared_layout: Layout
    shared_region: Region
    shared_swizzle: AddressSwizzle | Swizzle | None = None
    """An address XOR, or a hardware mode by name (the only way to ask for those whose pattern is not known)."""
    shared_base_alignment_bytes: int | None = None
    shared_padding_is_scratch: bool = False
    """The bytes between the shared tile's rows, behind the last row too, hold nothing: a load may overwrite them."""
    global_alignment_bytes: int = 16
    oob_fill: OobFill = OobFill.ZERO
    host_tensor: bool = True
    """Whether the host knows the tensor before the launch, as it does a kernel argument: it encodes the descriptors."""
    in_bounds: bool = False
    """The caller promises that the global region lies inside the tensor."""
    starts_fit_32_bits: bool = True
    """The caller promises that start coordinates fit 32 bits, as the instructions take them. Without the promise a
    start of unknown range is guarded."""
    reduction: str | None = None
    l2_promotion: L2Promotion = L2Promotion.B128
    """256 B costs 4 % where a kernel only reads (docs/hardware.md, what is fast)."""
    cta_group: int = 1
    multicast: bool = False
    variant: Variant = Variant.AUTO
    """``AUTO``, or the one way to take."""
    chip: str = field(default=DEFAULT_CHIP, metadata={ALWAYS: True})
    kind: Tile | Gather | Im2colWalk = Tile()
    """How the global side is addressed."""
    packing: str | None = None
    """Of packed elements: bytes of shared memory that sixteen take up, a key of ``dtypes.PACKINGS``; None: as usual."""
    options: tuple[tuple[str, str], ...] = ()
    """What else the caller said of the copy, as (name, text): it leads to no other plan, but a plan is made for it."""

    def __hash__(self) -> int:
        return hash_once(self)

    def __post_init__(self) -> None:
        for name, words in (("direction", Direction), ("variant", Variant)):
            given = getattr(self, name)
            if type(given) is not words:
                if given not in tuple(words):
                    raise ValueError(f"{name} {given!r} is not one of {', '.join(words)}")
                object.__setattr__(self, name, words(given))

    @property
    def scope(self) -> Scope:
        """Who executes the copy together."""
        return Scope(dict(self.options).get("scope", Scope.THREAD).strip('"'))

    @property
    def is_load(self) -> bool:
        return self.direction is Direction.LOAD
