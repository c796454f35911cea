"""Descriptors inside kernels: their nvgpu type, and one ``tile.create_descriptor`` for each distinct one."""

from __future__ import annotations

from ..abi.signature import TensorMapArgument
from ..analysis.global_views import kernel_argument, rebased_by
from ..analysis.ir_access import block_owner
from ..bindings import ir
from ..dialect.plan_attr import tensor_map_attribute
from ..dialect.tile import CreateDescriptorOp
from ..dtypes import DRIVER_TYPES, OTHER_MLIR_WIDTH, dtype
from ..layout.swizzle import Swizzle
from ..plan.copy_plan import CopyPlan
from ..plan.tensor_map import OobFill, TensorMap
from .rebase import updated_descriptor

_SWIZZLES = {mode: f"swizzle_{mode.label.lower()}" for mode in (Swizzle.B32, Swizzle.B64, Swizzle.B128)}
_SWIZZLES[Swizzle.NONE] = "none"
"""nvgpu's names of the swizzles it has."""


def nvgpu_says(map_: TensorMap, element: str) -> bool:
    """Whether nvgpu's operations can issue this tensor map on a memref of ``element``.

    They take the memref's own element type, four swizzles, an inner box of exactly the swizzle's span, and dense boxes.
    """
    return (
        map_.data_type in DRIVER_TYPES
        and map_.im2col is None
        and dtype(element).driver == map_.data_type
        and element not in OTHER_MLIR_WIDTH
        and map_.swizzle in _SWIZZLES
        and map_.swizzle.span_bytes in (0, map_.inner_box_bytes)
        and all(step == 1 for step in map_.element_strides)
    )


def _element(map_: TensorMap) -> str:
    """The element of a memref that stands for the map's; bytes for packed ones, which nvgpu's types do not have."""
    return DRIVER_TYPES[map_.data_type].mlir if map_.data_type in DRIVER_TYPES else "i8"


def descriptor_type(map_: TensorMap, element: str) -> ir.Type:
    """``!nvgpu.tensormap.descriptor`` for ``map_``; the box in memref order.

    Where nvgpu cannot describe the map the type still names its box, and only nvvm operations use it.
    """
    kind = element if nvgpu_says(map_, element) else _element(map_)
    box = "x".join(map(str, reversed(map_.box)))
    swizzle = _SWIZZLES.get(map_.swizzle, "none")
    promotion = map_.l2_promotion
    l2promo = f"l2promo_{promotion.bytes}b" if promotion else "none"
    oob = "nan" if map_.oob_fill is OobFill.NAN else "zero"
    return ir.Type.parse(
        f"!nvgpu.tensormap.descriptor<tensor = memref<{box}x{kind}, #gpu.address_space<workgroup>>, "
        f"swizzle = {swizzle}, l2promo = {l2promo}, oob = {oob}, interleave = none>"
    )


class DescriptorPool:
    """Descriptors made so far, by tensor and tensor map. They stand at the top of their kernel, oldest first."""

    def __init__(self) -> None:
        self._made: dict[tuple[ir.BlockArgument, TensorMapArgument], ir.Value] = {}
        self._count: dict[ir.Block, int] = {}
        self._rebased: dict[ir.Value, dict[TensorMapArgument, ir.Value]] = {}
        self._attributes: dict[tuple[str, TensorMapArgument], tuple[ir.Attribute, ir.Type]] = {}
        self._arguments: dict[ir.Value, ir.BlockArgument | None] = {}

    def argument_of(self, tensor: ir.Value) -> ir.BlockArgument | None:
        """``kernel_argument``, remembered: copies of one tensor ask again and again."""
        if tensor not in self._arguments:
            self._arguments[tensor] = kernel_argument(tensor)
        return self._arguments[tensor]

    def of(self, tensor: ir.Value, argument: ir.BlockArgument, map_: TensorMap, plan: CopyPlan) -> ir.Value:
        """The descriptor of the plan's ``map_`` for a copy of ``tensor``, a view of ``argument``, perhaps rebased."""
        recipe = TensorMapArgument(argument.arg_number, map_, plan.host_checks, plan.spares_descriptors)
        descriptor = self._get(argument, recipe)
        rebase = rebased_by(tensor)
        if rebase is None:
            return descriptor
        made = self._rebased.setdefault(rebase.rebased, {})
        if recipe not in made:
            made[recipe] = updated_descriptor(rebase, descriptor, recipe, len(made))
        return made[recipe]

    def _get(self, argument: ir.BlockArgument, recipe: TensorMapArgument) -> ir.Value:
        """The descriptor on the kernel argument, made if it is new."""
        key = (argument, recipe)
        if key not in self._made:
            block = argument.owner
            before = self._count.get(block, 0)
            self._count[block] = before + 1
            attribute, type_ = self._attribute(argument, recipe)
            with ir.InsertionPoint(block.operations[before]), block_owner(argument).location:
                self._made[key] = CreateDescriptorOp(type_, argument, attribute).descriptor
        return self._made[key]

    def _attribute(self, argument: ir.BlockArgument, recipe: TensorMapArgument) -> tuple[ir.Attribute, ir.Type]:
        """The recipe as an attribute, and the descriptor's type; built once, since kernels repeat them."""
        element = str(ir.MemRefType(argument.type).element_type)
        key = (element, recipe)
        if key not in self._attributes:
            type_ = descriptor_type(recipe.tensor_map, element)
            self._attributes[key] = tensor_map_attribute(recipe, argument.context), type_
        return self._attributes[key]
