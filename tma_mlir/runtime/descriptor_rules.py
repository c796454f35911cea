"""The encoder's rules on numbers: everything the driver would refuse, said before it is asked.

Source: 40,000 encodes on an H200 (driver 580, CUDA 13.0). Dimension 0 is innermost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..dtypes import DRIVER_FLOATS
from ..layout.expr import evaluate
from ..plan.copy_plan import Condition
from ..plan.tensor_map import OobFill, Swizzle, TensorMap

SHARED_BYTES = 227 * 1024
"""Most shared memory a block of sm_90 can have. The encoder took a box of 230,400 B and refused 261,120 B."""


def violations(tensor_map: TensorMap, address: int, capability: tuple[int, int] = (9, 0)) -> list[str]:
    """Every rule that ``tensor_map`` (numbers only) at ``address`` breaks: value found, value needed, remedy.

    ``capability`` of the device, e.g. (9, 0).
    """
    return [*_rank(tensor_map), *_memory(tensor_map, address), *_box(tensor_map), *_device(tensor_map, capability)]


def check_failures(checks: Sequence[Condition], symbols: Mapping[str, int]) -> list[str]:
    """The planner's conditions that do not hold for these arrays."""
    failures = []
    for check in checks:
        value = evaluate(check.value, symbols)
        wrong = value % check.divisor or (check.low is not None and value < check.low)
        if wrong or (check.high is not None and value > check.high):
            failures.append(f"{check.value} is {value} here. {check.finding}")
    return failures


def _rank(tensor_map: TensorMap) -> Iterator[str]:
    rank = tensor_map.rank
    if not 1 <= rank <= 5:
        yield f"rank {rank}, needed: 1 to 5. Fold dimensions"
    for name, found, needed in (
        ("strides", tensor_map.strides_bytes, rank - 1),
        ("box extents", tensor_map.box, rank),
        ("element strides", tensor_map.element_strides, rank),
    ):
        if len(found) != needed:
            yield f"{len(found)} {name}, needed: {needed} for rank {rank}"


def _memory(tensor_map: TensorMap, address: int) -> Iterator[str]:
    if address % 16:
        yield (
            f"address {address:#x} is {address % 16} B past a multiple of 16 B. Start the tensor at a multiple of "
            f"{_elements(16, tensor_map)} (a slice must not move it), or copy it"
        )
    if address == 0:
        yield "address 0. Pass an array that has memory"
    for d, extent in enumerate(tensor_map.dims):
        if extent == 0:
            yield f"dimension {d} is empty. Skip the launch for empty arrays"
        elif not 1 <= int(extent) <= 1 << 32:  # type: ignore[arg-type]
            yield f"dimension {d} has {extent} elements, needed: 1 to 2^32"
    for d, stride in enumerate(tensor_map.strides_bytes, 1):
        stride = int(stride)  # type: ignore[arg-type]
        if stride % 16:
            wider = -(-stride // 16) * 16
            yield (
                f"stride {stride} B of dimension {d} is not a multiple of 16 B. Pad it to {wider} B "
                f"({_elements(wider, tensor_map)})"
            )
        if not 0 <= stride < 1 << 40:
            yield f"stride {stride} B of dimension {d}, needed: 0 to 2^40 - 1 B"


def _box(tensor_map: TensorMap) -> Iterator[str]:
    for d, extent in enumerate(tensor_map.box):
        if not 1 <= extent <= 256:
            yield f"box of {extent} elements in dimension {d}, needed: 1 to 256. Issue several copies"
    for d, step in enumerate(tensor_map.element_strides):
        if not 1 <= step <= 8:
            yield f"element stride {step} in dimension {d}, needed: 1 to 8"
    inner = tensor_map.inner_box_bytes
    if inner % 16:
        yield f"inner box of {inner} B is not a multiple of 16 B ({_elements(16, tensor_map)})"
    span = tensor_map.swizzle.span_bytes
    if span and inner > span:
        yield (
            f"inner box of {inner} B with swizzle {tensor_map.swizzle.label}, needed: at most {span} B "
            f"({_elements(span, tensor_map)}). Use a smaller box or a wider swizzle"
        )
    if tensor_map.oob_fill is OobFill.NAN and tensor_map.data_type not in DRIVER_FLOATS:
        yield f"NaN fill for {tensor_map.data_type}, needed: a float type. Use zero fill"
    if all(step >= 1 for step in tensor_map.element_strides) and tensor_map.transaction_bytes > SHARED_BYTES:
        yield f"box of {tensor_map.transaction_bytes} B, needed: at most {SHARED_BYTES} B of shared memory"


def _device(tensor_map: TensorMap, capability: tuple[int, int]) -> Iterator[str]:
    chip = f"sm_{capability[0]}{capability[1]}"
    if capability < (9, 0):
        yield f'{chip} has no tensor maps, needed: sm_90 or later. Compile with variant = "simt"'
    elif capability < (10, 0) and tensor_map.swizzle > Swizzle.B128:
        yield f"swizzle {tensor_map.swizzle.label} on {chip}, needed: sm_100 or later. Use swizzle 128B"


def _elements(count_bytes: int, tensor_map: TensorMap) -> str:
    count = count_bytes // tensor_map.element_bytes
    return f"{count} element{'s' * (count != 1)}"
