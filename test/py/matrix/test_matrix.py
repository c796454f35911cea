"""Every cell of the matrix assembles with the instruction the PTX ISA spells, or gives the one error it must.

``make matrix`` (``TMA_MLIR_MATRIX=full``) takes all 209,440 cells, several minutes of two cores. The suite takes as
many as it needs for every pair of values to meet, and one in 29 besides.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator

import pytest

from tma_mlir.assembler import assemble
from tma_mlir.bindings import ir
from tma_mlir.chips import CHIPS as KNOWN_CHIPS
from tma_mlir.compile.compiler import _ptx
from tma_mlir.diagnostics import collecting
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline

from .matrix_cells import CHIPS, Cell, cells, count, expected_error, expected_instruction
from .matrix_kernels import module

FULL = os.environ.get("TMA_MLIR_MATRIX") == "full"
SAMPLE = 29
"""One cell in this many (a prime, so that no axis is in step with it) beside those that make up the pairs."""
BATCH = 200

_COPY = re.compile(r"// copy (\d+)")


def chosen() -> list[Cell]:
    """The cells this run takes."""
    if FULL:
        return list(cells())
    seen: set[tuple] = set()
    kept = []
    for cell in cells():
        values = (cell.chip, cell.direction, cell.option, cell.swizzle, cell.rank, cell.dtype)
        pairs = {(i, values[i], j, values[j]) for i, j in itertools.combinations(range(len(values)), 2)}
        if cell.index % SAMPLE == 0 or not pairs <= seen:
            seen |= pairs
            kept.append(cell)
    return kept


CHOSEN = chosen()
TAKEN: set[int] = set()
"""Cells that a test has judged."""


def batches(chip: str) -> Iterator[list[Cell]]:
    own = [cell for cell in CHOSEN if cell.chip == chip]
    for start in range(0, len(own), BATCH):
        yield own[start : start + BATCH]


def errors_by_cell(text: str, chip: str, pipeline: str) -> dict[int, list[str]]:
    """Messages of the errors of ``pipeline``, by the cell in whose line they are."""
    lines = text.splitlines()
    found: dict[int, list[str]] = {}
    context = make_context()
    with context, collecting(context) as said:
        root = ir.Module.parse(text).operation
        try:
            run_pipeline(root, pipeline)
        except ir.MLIRError:
            assert said.failed
    for diagnostic in said.seen:
        assert diagnostic.place is not None, diagnostic
        match = _COPY.search(lines[diagnostic.place.line - 1])
        assert match, f"{diagnostic.place}: {diagnostic.message}"
        found.setdefault(int(match[1]), []).append(diagnostic.message)
    return found


def ptx_of(taken: Iterable[Cell], chip: str) -> str:
    context = make_context()
    version = KNOWN_CHIPS[chip].ptx
    with context:
        root = ir.Module.parse(module(list(taken))).operation
        run_pipeline(
            root,
            f"builtin.module(tile-verify,tile-plan-copies{{chip={chip}}},convert-tile-to-nvgpu,tile-descriptor-args,"
            f"tile-lower-kernels,nvvm-attach-target{{chip={chip} features=+ptx{version} O=1}},"
            "gpu-module-to-binary{format=isa})",
        )
        return _ptx(root)


def entries(ptx: str) -> dict[int, str]:
    """The body of each kernel, by cell."""
    parts = re.split(r"\.entry k(\d+)\(", ptx)
    return {int(index): body for index, body in zip(parts[1::2], parts[2::2], strict=True)}


def judge(batch: list[Cell], chip: str) -> None:
    told = [cell for cell in batch if expected_error(cell) not in (None, "skip")]
    text = module(told)
    found = errors_by_cell(text, chip, "builtin.module(tile-verify)")
    survivors = [cell for cell in told if cell.index not in found]
    if survivors:
        found |= errors_by_cell(module(survivors), chip, f"builtin.module(tile-plan-copies{{chip={chip}}})")
    for cell in told:
        messages = found.get(cell.index, [])
        assert len(messages) == 1, (cell, messages)
        assert str(expected_error(cell)) in messages[0], (cell, messages)
        TAKEN.add(cell.index)
    good = [cell for cell in batch if expected_error(cell) is None]
    if good:
        ptx = ptx_of(good, chip)
        bodies = entries(ptx)
        for cell in good:
            wanted = expected_instruction(cell)
            assert re.search(re.escape(wanted) + r"\s*\[", bodies[cell.index]), (cell, wanted, bodies[cell.index])
        assemble(ptx, chip)
        TAKEN.update(cell.index for cell in good)
    TAKEN.update(cell.index for cell in batch if expected_error(cell) == "skip")


@pytest.mark.parametrize("chip", CHIPS)
def test_cells(chip):
    """Errors and instructions of all cells for one chip."""
    taken = 0
    for batch in batches(chip):
        judge(batch, chip)
        taken += len(batch)
    own = {cell.index for cell in CHOSEN if cell.chip == chip}
    print(f"\n{chip}: {taken} cells of {count() // len(CHIPS)}")
    assert own <= TAKEN, f"{len(own - TAKEN)} cells were not judged"


def test_no_cell_is_missing():
    """The enumeration is the whole product, and a full run takes all of it."""
    everything = list(cells())
    assert len({cell.index for cell in everything}) == len(everything) == count()
    assert not FULL or len(CHOSEN) == count()
    # A chip for each set of features; test/lit/chips assembles for all of them.
    kinds = {name: (each.features, each.shared_bytes) for name, each in KNOWN_CHIPS.items()}
    assert set(kinds.values()) == {kinds[name] for name in CHIPS}
    for option in {cell.option for cell in everything}:
        assert any(cell.option == option for cell in CHOSEN)
