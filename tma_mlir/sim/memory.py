"""The address space: regions of bytes, and gathers/scatters of a warp's lanes with bounds and alignment checks.

A shared-memory pointer is an offset in the CTA's own window, or ``(rank + 1) << 24 | offset`` for the window of another
CTA of the cluster. Generic pointers to shared memory add ``SHARED_WINDOW``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import SimulationError

if TYPE_CHECKING:
    from .global_shadow import GlobalShadow
    from .machine import Warp
    from .ordering import Location
    from .races import Clash
    from .shadow import SharedShadow

LANES = 32
LANE_IDS = np.arange(LANES, dtype=np.int32)
GLOBAL_BASE = 0x7000_0000_0000
PARAMETER_BASE = 0x6000_0000_0000
LOCAL_BASE = 0x5000_0000_0000
SHARED_WINDOW = 0x4000_0000_0000
RANK_SHIFT = 24
SHARED_RESERVED = 0x400
"""The first KiB of shared memory belongs to the system on sm_90."""


class Region:
    """``size`` bytes at ``base``. ``kind``: global, constant, shared, local or parameter."""

    __slots__ = ("base", "data", "end", "kind", "locations", "name", "owner", "shadow", "views", "watch")

    def __init__(self, name: str, kind: str, base: int, data: np.ndarray):
        self.name = name
        self.kind = kind
        self.base = base
        self.data = data
        self.end = base + data.size
        self.views: dict[str, np.ndarray] = {}
        self.shadow: SharedShadow | None = None
        """What the checks remember of shared memory; ``watch`` of global memory."""
        self.watch: GlobalShadow | None = None
        self.locations: dict[int, Location] = {}
        """Offsets that atomics and flags use."""
        self.owner: GlobalMemory | None = None

    @property
    def checks(self) -> SharedShadow | GlobalShadow | None:
        return self.watch if self.shadow is None else self.shadow

    def view_for(self, site: Site) -> np.ndarray:
        """``view`` of the site's element type."""
        view = self.views.get(site.key)
        return self.view(site.dtype) if view is None else view

    def view(self, dtype: np.dtype) -> np.ndarray:
        """The bytes as elements of ``dtype`` (the tail that does not fill one is left out)."""
        key = dtype.name
        view = self.views.get(key)
        if view is None:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            view = self.views[key] = self.data[:whole].view(dtype)
        return view


class GlobalMemory:
    """Global and constant memory: one region per allocation, 64 KiB or more of unmapped addresses between them."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.owners: list[np.ndarray] = []
        """Arrays kept alive because a region uses their bytes by address."""
        self.next = GLOBAL_BASE

    def add(self, name: str, data: np.ndarray, kind: str = "global") -> Region:
        region = Region(name, kind, self.next, data)
        region.owner = self
        self.next = (region.end + (1 << 16) + 0xFFFF) & ~0xFFFF
        self.regions.append(region)
        return region

    def find(self, address: int) -> Region | None:
        for region in self.regions:
            if region.base <= address < region.end:
                return region
        return None

    def nearest(self, address: int) -> Region | None:
        """The last allocation that starts at or below ``address``."""
        below = [region for region in self.regions if region.base <= address]
        return below[-1] if below else None


class Site:
    """One load or store of the program: element type, element count, alignment and place, and the last region used.

    ``strong``: atomic or volatile. ``unit_shift``: log2 of the bytes, at most 16, that the accesses come in.
    """

    __slots__ = ("align_mask", "count", "dtype", "key", "location", "location_id", "name", "region", "shift", "size",
                 "strong", "unit_shift")  # fmt: skip

    def __init__(
        self, name: str, dtype: np.dtype, count: int, alignment: int, location: str, location_id: int,
        strong: bool = False,
    ):  # fmt: skip
        self.name = name
        self.dtype = dtype
        self.key = dtype.name
        self.count = count
        self.size = dtype.itemsize * count
        self.shift = dtype.itemsize.bit_length() - 1
        self.align_mask = max(alignment, dtype.itemsize) - 1
        self.location = location
        self.location_id = location_id
        self.strong = strong
        self.unit_shift = min(4, _trailing_zeros(self.size | (self.align_mask + 1)))
        self.region: Region | None = None


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


def resolve(w: Warp, address: int, size: int, site: Site) -> tuple[Region, int]:
    """The region that holds ``[address, address + size)`` as seen from warp ``w``, and the offset in it."""
    region, offset = locate(w, address)
    if region is None or offset < 0 or offset + size > region.data.size:
        raise _out_of_bounds(w, address, size, region, offset, site)
    if region.kind == "shared" and offset < SHARED_RESERVED:
        raise SimulationError(
            "out of bounds", f"{site.name} of {size} B at shared address {offset:#x}, which is not allocated",
            site.location,
        )  # fmt: skip
    if address & site.align_mask:
        raise SimulationError(
            "misaligned address",
            f"{site.name} of {size} B at {region.name}+{offset:#x} needs {site.align_mask + 1}-byte alignment",
            site.location,
        )
    return region, offset


def locate(w: Warp, address: int) -> tuple[Region | None, int]:
    """The region of an address and the offset in it; offsets may lie outside (then it is the nearest region)."""
    if address >= GLOBAL_BASE:
        memory = w.machine.memory
        region = memory.find(address) or memory.nearest(address)
        return region, address - region.base if region else 0
    if PARAMETER_BASE <= address < w.machine.parameters.end:
        return w.machine.parameters, address - PARAMETER_BASE
    if SHARED_WINDOW <= address < LOCAL_BASE:
        address -= SHARED_WINDOW
    if 0 <= address < 1 << 32:
        rank = address >> RANK_SHIFT
        offset = address & ((1 << RANK_SHIFT) - 1)
        if rank == 0:
            return w.cta.shared, offset
        ctas = w.cta.cluster.ctas
        return (ctas[rank - 1].shared, offset) if rank <= len(ctas) else (None, offset)
    return None, 0


def _out_of_bounds(w: Warp, address: int, size: int, region: Region | None, offset: int, site: Site) -> SimulationError:
    where = f"address {address:#x}"
    if region is not None:
        where = f"{region.name}+{offset:#x} ({region.kind} memory of {region.data.size} B)"
    elif PARAMETER_BASE <= address < GLOBAL_BASE:
        where = "a kernel parameter passed by value"
    return SimulationError("out of bounds", f"{site.name} of {size} B at {where}, {w.describe()}", site.location)


def _lanes_offsets(w: Warp, address: np.ndarray, site: Site) -> tuple[Region, np.ndarray] | None:
    """One region and byte offsets for all lanes (inactive ones get a legal offset), or None if lanes need care."""
    region = site.region
    if region is None or region.owner is not w.machine.memory:
        first = int(address[w.first])
        if LOCAL_BASE <= first < PARAMETER_BASE:
            local = w.local_memory()
            offset = address - LOCAL_BASE
            if int(np.maximum.reduce(offset)) + site.size > w.local_bytes:
                return None
            return local, offset + w.lane_numbers64 * w.local_bytes
        region, _ = resolve(w, first, site.size, site)
        if region.kind == "shared":
            if first >= 1 << RANK_SHIFT:
                base = first - (first & ((1 << RANK_SHIFT) - 1))
                offset = address - base
                bits = int(np.bitwise_or.reduce(offset))
                return None if bits < 0 or bits >= 1 << RANK_SHIFT or bits & site.align_mask else (region, offset)
        else:
            site.region = region
    offset = address - region.base
    bits = int(np.bitwise_or.reduce(offset))
    if bits < 0 or bits & site.align_mask:
        return None
    return region, offset


def load_lanes(w: Warp, address: Any, site: Site):
    """Load one element (or ``site.count``, as ``[count, lanes]``) per active lane; a uniform address gives a scalar."""
    if address.__class__ is int:
        return _load_uniform(w, address, site)
    if not w.all:
        address = np.where(w.mask, address, address[w.first])
    found = _lanes_offsets(w, address, site)
    if found is not None:
        region, offset = found
        index = offset >> site.shift
        try:
            if site.count == 1:
                value = region.view_for(site).take(index)
            else:
                value = region.view_for(site).take(index + np.arange(site.count)[:, None])
        except IndexError:
            found = None
        else:
            _observe(w, region, offset, site, False)
            return value
    site.region = None
    return _load_slowly(w, address, site)


def _observe(w: Warp, region: Region, offset: np.ndarray, site: Site, write: bool) -> Clash | None:
    """Tell checks and profile of an access of the active lanes at ``offset``."""
    shadow, profile = region.checks, w.machine.profile
    if shadow is None and profile is None:
        return None
    if not w.all:
        offset = offset[w.mask]
    if profile is not None:
        profile.access(w, region, offset, site, write)
    if shadow is None:
        return None
    lanes = LANE_IDS if w.all else LANE_IDS[w.mask]
    if write:
        return shadow.generic_write(w, offset, site, lanes)
    shadow.generic_read(w, offset, site, lanes)
    return None


def _load_uniform(w: Warp, address: int, site: Site):
    if LOCAL_BASE <= address < PARAMETER_BASE:
        return load_lanes(w, np.full(LANES, address, np.int64), site)
    region, offset = resolve(w, address, site.size, site)
    checks = region.checks
    if checks is not None:
        checks.generic_read(w, np.array([offset]), site, None)
    if w.machine.profile is not None:
        w.machine.profile.access(w, region, np.array([offset]), site, False)
    view = region.view_for(site)
    index = offset >> site.shift
    if site.count > 1:
        return view[index : index + site.count, None].copy()
    value = view[index]
    if site.dtype.kind == "i":
        return int(value)
    return bool(value) if site.dtype.kind == "b" else value


def _load_slowly(w: Warp, address: np.ndarray, site: Site):
    """Lane by lane: lanes in several regions, or one of them at fault."""
    shape = (site.count, LANES) if site.count > 1 else (LANES,)
    result = np.zeros(shape, site.dtype)
    for lane in np.flatnonzero(w.mask):
        region, offset = resolve(w, int(address[lane]), site.size, site)
        checks = region.checks
        if checks is not None:
            checks.generic_read(w, np.array([offset]), site, LANE_IDS[lane : lane + 1])
        index = offset >> site.shift
        view = region.view_for(site)
        if site.count > 1:
            result[:, lane] = view[index : index + site.count]
        else:
            result[lane] = view[index]
    return result


def store_lanes(w: Warp, address: Any, value: Any, site: Site) -> None:
    """Store one element (or ``site.count``) per active lane; of lanes at one address the last wins."""
    w.machine.changes += 1
    if address.__class__ is int:
        if LOCAL_BASE <= address < PARAMETER_BASE:
            store_lanes(w, np.full(LANES, address, np.int64), value, site)
            return
        region, offset = resolve(w, address, site.size, site)
        _writable(region, site)
        if isinstance(value, np.ndarray):
            if value.shape[-1] == LANES:
                checks = region.checks
                if checks is not None:
                    checks.check_equal(w, offset, value[..., w.mask].astype(site.dtype), site)
                value = value[..., w.last]
            elif value.ndim:
                value = value[..., 0]
        _store_one(w, region, offset, value, site, None)
        return
    if not w.all:
        address = np.where(w.mask, address, address[w.first])
    found = _lanes_offsets(w, address, site)
    if found is None:
        site.region = None
        _store_slowly(w, address, value, site)
        return
    region, offset = found
    _writable(region, site)
    view = region.view_for(site)
    index = offset >> site.shift
    if int(np.maximum.reduce(index)) + site.count > view.size:
        site.region = None
        _store_slowly(w, address, value, site)
        return
    clash = _observe(w, region, offset, site, True)
    if not w.all:
        index = index[w.mask]
        if isinstance(value, np.ndarray) and value.shape[-1:] == (LANES,):
            value = value[..., w.mask]
    if site.count > 1:
        index = index + np.arange(site.count)[:, None]
    _put(view, index, value, clash)


def _put(view: np.ndarray, index: np.ndarray, value: Any, clash: Clash | None) -> None:
    if clash is None:
        view[index] = value
        return
    before = view[index]
    view[index] = value
    clash.check(before, view[index], np.broadcast_to(np.asarray(value).astype(view.dtype), index.shape))


def _store_one(w: Warp, region: Region, offset: int, value: Any, site: Site, lanes: np.ndarray | None) -> None:
    """Store one lane's element or elements, or those that all active lanes store to one place (``lanes`` is None)."""
    clash, checks = None, region.checks
    if checks is not None:
        clash = checks.generic_write(w, np.array([offset]), site, lanes)
    if w.machine.profile is not None:
        w.machine.profile.access(w, region, np.array([offset]), site, True)
    index = offset >> site.shift
    value = np.asarray(value).reshape(-1, 1) if site.count > 1 else value
    _put(region.view_for(site), index + np.arange(site.count)[:, None] if site.count > 1 else np.array([index]), value,
         clash)  # fmt: skip


def _writable(region: Region, site: Site) -> None:
    if region.kind == "constant":
        raise SimulationError("out of bounds", f"store to constant @{region.name}", site.location)


def _store_slowly(w: Warp, address: np.ndarray, value, site: Site) -> None:
    shape = (site.count, LANES) if site.count > 1 else (LANES,)
    values = np.broadcast_to(np.asarray(value), shape)
    for lane in np.flatnonzero(w.mask):
        region, offset = resolve(w, int(address[lane]), site.size, site)
        _writable(region, site)
        _store_one(w, region, offset, values[..., lane], site, LANE_IDS[lane : lane + 1])
