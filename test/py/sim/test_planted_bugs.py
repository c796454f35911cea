"""Every planted bug is reported with its cause and line within twenty schedules; no right kernel raises an alarm."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from support.planted import BUGS, FOLDER, KERNELS, Bug
from tma_mlir.compile.compiler import CompiledModule, CompileError, compile_file
from tma_mlir.sim.errors import Finding, SimulationError
from tma_mlir.sim.simulate import Program, load_program, simulate

SCHEDULES = range(20)


@dataclass(frozen=True)
class Report:
    """What was said first about a kernel: by the compiler (no ``schedule``) or by the simulator."""

    kind: str
    text: str
    location: str
    places: tuple[str, ...]
    schedule: int | None


def _prepared(file: Path) -> tuple[CompiledModule, Program]:
    made = compile_file(file, keep=("lowered",), assemble_cubin=False)
    (signature,) = made.signatures.values()
    return made, load_program(made.texts["lowered"], signature.name, signature.dynamic_shared_bytes)


def first_report(bug: Bug, folder: Path) -> Report | None:
    """The first finding in twenty schedules, or None. A file in ``folder`` lets findings name values."""
    file = folder / f"{bug.kernel}.mlir"
    file.write_text(bug.source())
    try:
        made, program = _prepared(file)
    except CompileError as error:
        first = error.diagnostics[0]
        return Report("compile error", str(error), str(first.place or ""), (), None)
    (signature,) = made.signatures.values()
    for seed in SCHEDULES:
        arguments, _ = KERNELS[bug.kernel]()
        try:
            run = simulate(None, signature, arguments, schedule_seed=seed, program=program)
        except SimulationError as error:
            return _of(error.finding, seed)
        if run.findings:
            return _of(run.findings[0], seed)
    return None


def _of(finding: Finding, seed: int) -> Report:
    return Report(finding.kind, str(finding), finding.location, tuple(place for _, place in finding.notes), seed)


def line_of(source: str, location: str) -> str:
    return source.splitlines()[int(location.rsplit(":", 2)[1]) - 1] if ":" in location else ""


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.kernel}, {bug.name}")
def test_the_bug_is_reported_with_its_cause_and_line(bug: Bug, tmp_path: Path):
    report = first_report(bug, tmp_path)
    assert report is not None, "nothing was said in twenty schedules"
    assert report.kind in bug.kinds, report.text
    assert report.location, report.text
    assert bug.at in line_of(bug.source(), report.location), report.text
    lines = [line_of(bug.source(), place) for place in report.places]
    assert bug.says in report.text or any(bug.says in line for line in lines), report.text


@pytest.mark.parametrize("name", KERNELS)
def test_the_right_kernel_raises_no_alarm(name: str):
    made, program = _prepared(FOLDER / f"{name}.mlir")
    (signature,) = made.signatures.values()
    for seed in SCHEDULES:
        arguments, expected = KERNELS[name]()
        run = simulate(None, signature, arguments, schedule_seed=seed, program=program)
        assert not run.findings, "\n".join(map(str, run.findings))
        for index, array in expected.items():
            np.testing.assert_array_equal(arguments[index], array)


def test_there_are_enough_bugs_of_each_kernel():
    assert len({(bug.kernel, bug.name) for bug in BUGS}) == len(BUGS) >= 40
    assert {bug.kernel for bug in BUGS} == set(KERNELS) == {path.stem for path in FOLDER.glob("*.mlir")}


def table(folder: Path) -> str:
    """One line for each bug: kernel, bug, what is reported, where, on which schedule."""
    rows = []
    for bug in BUGS:
        report = first_report(bug, folder)
        said = (
            "nothing" if report is None else f"{report.kind} at {line_of(bug.source(), report.location).strip()[:60]}"
        )
        when = "" if report is None else "compiling" if report.schedule is None else str(report.schedule)
        rows.append(f"| {bug.kernel} | {bug.name} | {said} | {when} |")
    return "\n".join(["| kernel | planted bug | reported | schedule |", "|---|---|---|---|", *rows])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(table(Path(folder)))
