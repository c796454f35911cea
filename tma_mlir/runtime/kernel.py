"""A compiled kernel that is called with the arrays of any framework."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..abi.extents import Extent, promised, promised_cluster
from ..abi.parameters import offset_of
from ..abi.scalars import shown
from ..abi.signature import KernelSignature, MemRefArgument, PointerArgument, ValueArgument
from ..abi.symbols import scalars_in_descriptors
from ..assembler import Cubin, Resources
from ..files import write_whole
from . import driver, native, streams
from .arrays import HOST, ArrayView
from .binding import Value, convert
from .errors import CudaError
from .fast_keys import fast_keys, may_be_negated
from .known_launches import UNREADABLE, KnownLaunches, make_room
from .launch import LaunchAttributes, Prepared, Shape
from .module import Module, allow_cluster, allow_shared
from .placement import choose_device, choose_stream, other_streams
from .specialise import Specialisation, specialise
from .staging import Staging
from .streams import DRIVER_STREAMS

LAUNCHERS = 64
"""Combinations of grid and block a kernel keeps launchers for, oldest out first."""

ARGUMENT_TYPES = 16
"""Combinations of argument types a kernel knows launches for, oldest out first."""


class Kernel:
    """A cubin and the signature that was read off the same compilation: ``compile``, ``load`` and ``from_bytes`` keep
    the two together, and nothing else checks that they belong to each other.

    ``kernel[grid, block](*arguments)`` or ``kernel.launch(grid, block, *arguments)``. Arrays are used where they are
    (PyTorch, CuPy, JAX, anything with DLPack or ``__cuda_array_interface__``), in order with the framework's current
    stream; NumPy arrays are copied to the device and, when writable, back, and the call waits for that. Grid and block
    may be None where the module says them. A kernel stays loaded until ``unload``, because a CUDA graph may hold it.

    With ``TMA_MLIR_DEBUG=1`` in the environment when the kernel is made, every launch is waited for, and a fault names
    the launch it happened in.
    """

    def __init__(
        self,
        cubin: Cubin | bytes,
        signature: KernelSignature,
        *,
        ptx: str = "",
        plans: Sequence[Any] = (),
        chip: str = "",
        resources: Resources | None = None,
    ) -> None:
        if isinstance(cubin, Cubin):
            chip, resources = chip or cubin.chip, resources or cubin.resources.get(signature.name)
            cubin = cubin.data
        self.cubin, self.signature, self.ptx, self.plans = cubin, signature, ptx, tuple(plans)
        self.chip, self.resources = chip, resources
        self._module = Module(cubin, signature, chip)
        self._static_scalars = scalars_in_descriptors(signature)
        self._launchers: dict[tuple, Callable[..., None]] = {}
        """What ``kernel[grid, block]`` gives."""
        self._alive = bytearray(b"\1")
        self._known: dict[tuple[type, ...], KnownLaunches] = {}
        """By the types of the arguments."""
        self._last: KnownLaunches | None = None
        """Those of the types launched last."""
        self._lock = threading.Lock()
        self._debug = os.environ.get("TMA_MLIR_DEBUG", "0") not in ("", "0")
        self._launches = 0
        self._one_device = False
        """Whether there is one GPU only; looked up before a launch becomes known."""

    def __repr__(self) -> str:
        return f"<tma_mlir kernel {self.signature.name!r} for {self.chip or 'an unknown chip'}>"

    def __getitem__(self, grid_block: Any) -> Callable[..., None]:
        """``kernel[grid, block]``, ready to be called with the arguments."""
        try:
            return self._launchers[grid_block]
        except (KeyError, TypeError):  # a list as grid has no hash
            pass
        if not isinstance(grid_block, tuple) or len(grid_block) != 2:
            raise TypeError(f"kernel[grid, block](...) is needed, found kernel[{grid_block!r}]")
        look = functools.partial(self._look, *grid_block)
        if self._debug:
            return look
        made = native.launch(look, self._alive)
        with contextlib.suppress(TypeError), self._lock:
            make_room(self._launchers, LAUNCHERS)
            self._launchers[grid_block] = made
        return made

    def __call__(self, *arguments: Any, **options: Any) -> None:
        """A launch with the grid and block that the module says."""
        self[None, None](*arguments, **options)

    def launch(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        stream: Any = None,
        cluster: Extent = None,
        shared_memory: int | None = None,
        attributes: LaunchAttributes | Mapping[str, Any] | None = None,
    ) -> None:
        """Launches; returns without waiting unless host arrays are among the arguments. With a grid without blocks, or
        with arrays that are all empty, the arguments are checked and nothing is launched.

        ``stream``: None for the framework's current one, or anything ``streams.handle_of`` takes (the caller then
        orders the work). ``cluster``: blocks a cluster. ``shared_memory``: dynamic, in bytes. ``attributes``: see
        ``LaunchAttributes``. Raises ``ArgumentTypeError``, ``DescriptorError``, ``CudaError``.
        """
        if stream is None and cluster is None and shared_memory is None and attributes is None:
            self[grid, block](*arguments)
        else:
            self._look(
                grid, block, *arguments, stream=stream, cluster=cluster, shared_memory=shared_memory,
                attributes=attributes,
            )  # fmt: skip

    def _look(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        stream: Any = None,
        cluster: Extent = None,
        shared_memory: int | None = None,
        attributes: LaunchAttributes | Mapping[str, Any] | None = None,
    ) -> None:
        """A launch that Python looks at: at the parts that tell launches apart if it knows such a one, else at all."""
        extent: Any = grid
        if cluster is not None or shared_memory is not None or attributes is not None:
            attributes = LaunchAttributes.of(attributes)
            extent = (grid, cluster, shared_memory, attributes)
        known = self._last
        # A stream of another GPU moves the launch there.
        if known is not None and (stream is None or self._one_device):
            try:
                key = known.key(extent, block, *arguments)
                prepared = known.prepared.get(key)
            except UNREADABLE:
                key = prepared = None
            if prepared is None:
                known, prepared = self._find(known, key, extent, block, arguments)
            if prepared is not None:
                ordinal = prepared.device
                known_stream = DRIVER_STREAMS[
                    known.current_stream(ordinal) if stream is None else streams.handle_of(stream)
                ]
                if (self._one_device or driver.current_device() == ordinal) and (
                    prepared.issue(known_stream, prepared.address, 0)[0] == 0
                ):
                    return
                # This thread may have no context of the device yet. Whatever else is wrong comes again.
                with driver.current(ordinal):
                    self._issue(prepared, known_stream)
                return
        self._launch(grid, block, arguments, stream, cluster, shared_memory, attributes, extent)

    def bind(
        self, grid: Extent, block: Extent, *arguments: Any, stream: Any = None, **options: Any
    ) -> Callable[[], None]:
        """A launch on exactly the memory these device arrays have now, for loops where every microsecond counts.

        The arrays are kept alive, and nothing about them is looked at again. ``stream`` as in ``launch``, settled now.
        """
        order = choose_stream(stream, arguments)
        values = convert(self.signature, arguments, order.stream)
        views = [value for value in values if isinstance(value, ArrayView)]
        if any(view.device == HOST for view in views):
            raise TypeError("bind takes arrays on the device only: host arrays are copied at each launch")
        ordinal = choose_device(self.signature.name, views, order)
        with driver.current(ordinal):
            shape = self._shape(grid, block, ordinal, **options)
            if shape.empty or changes_nothing(self.signature, values):
                return lambda: None
            special = specialise(self.signature, self._module.function(ordinal), shape, values)
        prepared = special.prepare(_addresses(values, arguments))
        assert prepared is not None  # these addresses were checked
        known, direct = DRIVER_STREAMS[order.stream], driver.device_count() == 1 and not self._debug

        def run(_alive: Any = (arguments, values)) -> None:
            if direct and prepared.issue(known, prepared.address, 0)[0] == 0:
                return
            with driver.current(ordinal):
                self._issue(prepared, known)

        return run

    def unload(self) -> None:
        """Frees the device's copies of the kernel. Later launches raise ``Unloaded``."""
        with self._lock:
            self._last, self._alive[0] = None, 0
            self._launchers.clear()
            self._known.clear()
            self._module.unload()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one file that ``Kernel.load`` runs without MLIR."""
        write_whole(path, self.to_bytes())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Kernel:
        """The kernel that ``save`` wrote; raises ``ValueError`` for anything else."""
        return Kernel.from_bytes(Path(path).read_bytes(), str(path))

    def to_bytes(self) -> bytes:
        """What ``save`` writes; for a cache."""
        from .artifact import pack

        return pack(self)

    @staticmethod
    def from_bytes(data: bytes, name: str = "this") -> Kernel:
        """The kernel of ``to_bytes``; ``name`` says in messages where it came from."""
        from .artifact import unpack

        return Kernel(**unpack(data, name))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are by value, through ``to_bytes``: what is loaded on a device stays with its process."""
        return Kernel.from_bytes, (self.to_bytes(),)

    def _offsets(self, values: Sequence[Any]) -> list[int]:
        """Of each array among ``values``: the bytes in front of it in its memref's allocation."""
        pairs = zip(self.signature.arguments, values, strict=True)
        return [
            offset_of(argument) * argument.dtype.bytes if isinstance(argument, MemRefArgument) else 0
            for argument, value in pairs
            if isinstance(value, ArrayView)
        ]

    def _launch(
        self,
        grid: Extent,
        block: Extent,
        arguments: Sequence[Any],
        stream: Any,
        cluster: Extent,
        shared_memory: int | None,
        attributes: LaunchAttributes | Mapping[str, Any] | None,
        extent: Any,
    ) -> None:
        """A launch whose arguments are looked at in full. ``extent``: the grid and options, as keys have them."""
        name = self.signature.name
        order = choose_stream(stream, arguments)
        values = convert(self.signature, arguments, order.stream)
        views = [value for value in values if isinstance(value, ArrayView)]
        ordinal = choose_device(name, views, order)
        with driver.current(ordinal):
            shape = self._shape(
                grid, block, ordinal, cluster=cluster, shared_memory=shared_memory, attributes=attributes
            )
            if shape.empty or changes_nothing(self.signature, values):
                return
            on_host = any(view.device == HOST for view in views)
            if on_host and driver.is_capturing(order.stream):
                raise CudaError(
                    "launch", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 900, f"kernel {name!r} has host arrays"
                )
            others = other_streams(views, order)
            for producer in others:
                streams.order_after(producer, order.stream)
            with Staging(name, order.stream) as staging:
                staged = iter(staging.stage(views, self._offsets(values), ordinal))
                values = [next(staged) if isinstance(value, ArrayView) else value for value in values]
                special = specialise(self.signature, self._module.function(ordinal), shape, values)
                prepared = special.prepare(_addresses(values, arguments))
                assert prepared is not None  # these addresses were checked
                known = DRIVER_STREAMS[order.stream]
                self._issue(prepared, known)
                if on_host:
                    self._wait(prepared, known)
                    staging.copy_back()
            for producer in others:
                streams.order_after(order.stream, producer)
            # JAX does not say which stream it will free or reuse the buffer on.
            if any(view.framework == "jax" for view in views) and not driver.is_capturing(order.stream):
                self._wait(prepared, known)
        if not on_host and not self._debug:
            self._learn(extent, block, arguments, values, special)

    def _shape(
        self,
        grid: Extent,
        block: Extent,
        ordinal: int,
        *,
        cluster: Extent = None,
        shared_memory: int | None = None,
        attributes: LaunchAttributes | Mapping[str, Any] | None = None,
    ) -> Shape:
        """The launch's shape, checked against what the kernel was compiled for."""
        signature, function = self.signature, self._module.function(ordinal)
        grid3 = promised("grid", grid, signature.grid, signature.name)
        block3 = promised("block", block, signature.block, signature.name)
        cluster3 = promised_cluster(cluster, signature.cluster, grid3, signature.name)
        if cluster3 is not None:
            if function.cluster_compiled:
                cluster3 = None  # the cubin says it, and saying it again must not differ
            else:
                allow_cluster(function, cluster3[0] * cluster3[1] * cluster3[2])
        shared = signature.dynamic_shared_bytes if shared_memory is None else _bytes_of_shared(shared_memory)
        allow_shared(function, signature.name, shared)
        return Shape(grid3, block3, cluster3, shared, LaunchAttributes.of(attributes))

    def _learn(
        self, extent: Any, block: Extent, arguments: Sequence[Any], values: Sequence[Value], special: Specialisation
    ) -> None:
        """Makes later launches with these types and shapes fast, where that is possible."""
        views = [value for value in values if isinstance(value, ArrayView)]
        if any(view.device != special.launcher.device or may_be_negated(view) for view in views):
            return
        types = tuple(map(type, arguments))
        if not special.repeatable:
            return
        known = self._known.get(types)
        if known is None:
            keys = fast_keys(arguments, self._static_scalars)
            if keys is None:
                return
            known = KnownLaunches(keys)
        self._one_device = driver.device_count() == 1
        if not known.learn(extent, block, arguments, special):
            return
        with self._lock:
            if types not in self._known:
                make_room(self._known, ARGUMENT_TYPES)
            self._known[types] = self._last = known
            launcher = self._launchers.get((extent, block))
            if launcher is not None:
                native.teach(launcher, self.signature, special, arguments, self._static_scalars, self._one_device)

    def _find(
        self, last: KnownLaunches, key: tuple | None, extent: Any, block: Extent, arguments: Sequence[Any]
    ) -> tuple[KnownLaunches, Prepared | None]:
        """A launch that is not among those prepared for ``last``: with other addresses, or of other types. ``key``:
        what ``last`` read, if it could."""
        known = self._known.get(tuple(map(type, arguments)))
        if known is None:
            return last, None
        if known is not last:
            self._last, key = known, None
        return known, known.find(key, extent, block, arguments)

    def _issue(self, prepared: Prepared, stream: Any) -> None:
        """Launches with the device's context current."""
        self._launches += 1
        result = prepared.issue(stream, prepared.address, 0)[0]
        if result != 0:
            raise CudaError("cuLaunchKernel", result.name, int(result), self._describe(prepared))
        if self._debug and not driver.is_capturing(int(stream)):
            self._wait(prepared, stream)

    def _wait(self, prepared: Prepared, stream: Any) -> None:
        driver.call("cuStreamSynchronize", stream, context=self._describe(prepared))

    def _describe(self, prepared: Prepared) -> str:
        shape = prepared.shape
        text = (
            f"launch of kernel {self.signature.name!r} on GPU {prepared.device}, grid {shape.grid}, block {shape.block}"
        )
        return f"{text}, launch number {self._launches}" if self._debug else text


def _bytes_of_shared(given: Any) -> int:
    try:
        found = operator.index(given)
    except TypeError:
        raise TypeError(f"shared_memory is {shown(given)}, needed: a number of bytes") from None
    if not 0 <= found < 1 << 31:
        raise ValueError(f"shared_memory is {shown(given)} bytes, needed: what a block can have")
    return found


def _addresses(values: Sequence[Value], arguments: Sequence[Any]) -> list[Any]:
    """What ``Specialisation.prepare`` takes: an address for each tensor, the number as given for each scalar."""
    return [
        value.pointer if isinstance(value, ArrayView) else argument
        for value, argument in zip(values, arguments, strict=True)
    ]


def changes_nothing(signature: KernelSignature, values: Sequence[Value]) -> bool:
    """Whether a launch on ``values`` can be left out: there are arrays, none has an element, and the kernel knows no
    other memory."""
    for argument, value in zip(signature.arguments, values, strict=True):
        if isinstance(argument, PointerArgument | ValueArgument) and isinstance(value, bytes):
            return False  # an address, or a struct that may hold one
    views = [value for value in values if isinstance(value, ArrayView)]
    return bool(views) and all(0 in view.shape for view in views)
