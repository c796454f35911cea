"""Pipelines of Python passes and MLIR's own: order, nesting, options, errors."""

from __future__ import annotations

import time

import pytest

from tma_mlir.bindings import ir, passmanager
from tma_mlir.diagnostics import collecting, remark
from tma_mlir.dialect import make_context
from tma_mlir.errors import TileError, TileErrors
from tma_mlir.passes import registry
from tma_mlir.passes.pipeline import PassCrash, parse_pipeline, run_pipeline
from tma_mlir.passes.pipeline_text import PipelineError
from tma_mlir.passes.registry import Option, Pass, Pipeline

MODULE = """
module {
  gpu.module @a { gpu.func @k() kernel { gpu.return } }
  gpu.module @b { gpu.func @k() kernel { gpu.return } }
  func.func @f(%x: i32) -> i32 { %0 = arith.constant 0 : i32 %1 = arith.addi %x, %0 : i32 return %1 : i32 }
}
"""

log: list[tuple[str, dict]] = []


def _log(op, options):
    log.append((op.name, dict(options)))


def _count_additions(op, options):
    log.append(("additions", {"n": str(op).count("arith.addi")}))


def _fail(op, options):
    remark(op.location, "about to fail")
    raise TileErrors([TileError(op, "first", ["a note"]), TileError(op, "second")])


def _crash(op, options):
    raise KeyError("oops")


registry.register(
    Pass("test-log", "Record.", _log, (Option("n", int, 1), Option("s"), Option("on", bool, False))),
    Pass("test-count-additions", "Count.", _count_additions),
    Pass("test-fail", "Fail.", _fail),
    Pass("test-crash", "Crash.", _crash),
    Pass("test-gpu", "Anchored.", _log, anchor="gpu.module"),
    Pipeline(
        "test-row", "A row.", lambda o: f"test-log{{n={o['n']}}},gpu.module(cse,test-gpu)", (Option("n", int, 3),)
    ),
    Pipeline("test-broken-row", "A row.", lambda o: "cse,frobnicate"),
    Pipeline("test-endless-row", "A row.", lambda o: "test-endless-row"),
)


@pytest.fixture
def module():
    log.clear()
    with make_context():
        yield ir.Module.parse(MODULE).operation


def test_python_passes_run_between_mlirs_in_order(module):
    run_pipeline(module, "builtin.module(test-count-additions,func.func(canonicalize),test-count-additions)")
    assert [options["n"] for _, options in log] == [1, 0]


def test_a_nested_python_pass_runs_on_each_child_of_its_anchor(module):
    run_pipeline(module, "builtin.module(gpu.module(gpu.func(test-log),test-log))")
    assert [name for name, _ in log] == ["gpu.func", "gpu.module"] * 2


def test_any_runs_on_isolated_children(module):
    run_pipeline(module, "builtin.module(any(test-log))")
    assert [name for name, _ in log] == ["gpu.module", "gpu.module", "func.func"]
    log.clear()
    run_pipeline(module, "builtin.module(func.func(any(test-log)))")
    assert log == []


def test_options_are_typed_and_have_defaults(module):
    run_pipeline(module, "builtin.module(test-log{n=-2 s='a b' on},test-log)")
    assert [options for _, options in log] == [{"n": -2, "s": "a b", "on": True}, {"n": 1, "s": None, "on": False}]


def test_pipelines_expand(module):
    run_pipeline(module, "builtin.module(test-row{n=7})")
    assert [name for name, _ in log] == ["builtin.module", "gpu.module", "gpu.module"]
    assert log[0][1]["n"] == 7


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("builtin.module( cse , test-log )", "builtin.module(cse,test-log)"),
        ("builtin.module(test-log{s='a b' n=1})", 'builtin.module(test-log{s="a b"})'),
        ("builtin.module(test-row{n=5})", "builtin.module(test-log{n=5},gpu.module(cse,test-gpu))"),
        ("gpu.module(canonicalize{max-iterations=3},test-gpu)",) * 2,
    ],
)
def test_text_round_trips(text, printed):
    assert str(parse_pipeline(text)) == printed
    assert str(parse_pipeline(printed)) == printed


def test_a_pass_manager_prints_text_that_parses(module):
    pm = passmanager.PassManager("builtin.module")
    parse_pipeline("builtin.module(test-log{n=2},gpu.module(test-gpu,cse),cse)").add_to(pm)
    assert str(parse_pipeline(str(pm))) == "builtin.module(test-log{n=2},gpu.module(test-gpu,cse),cse)"


def test_a_pass_manager_for_another_anchor_is_refused(module):
    with pytest.raises(PipelineError, match=r"pass manager for 'gpu\.module'"):
        parse_pipeline("builtin.module(test-log)").add_to(passmanager.PassManager("gpu.module"))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("builtin.module(test-lgo)", 16, "there is no pass or pipeline 'test-lgo'; did you mean 'test-log'?"),
        ("builtin.module(cse,canonicalise)", 20, "did you mean 'canonicalize'?"),
        ("builtin.module(cse,canonicalize{max=1})", 20, "'canonicalize' has no option 'max'"),
        ("builtin.module(test-log{n=1 nn=2})", 29, "'test-log' has no option 'nn'; did you mean 'n'?"),
        ("builtin.module(test-log{n=x})", 25, "option 'n' takes an integer, not 'x'"),
        ("builtin.module(test-log{on=x})", 25, "option 'on' takes true or false, not 'x'"),
        ("builtin.module(test-log{n})", 25, "option 'n' needs a value"),
        ("builtin.module(test-gpu)", 16, "'test-gpu' runs on 'gpu.module', not on 'builtin.module'"),
        ("builtin.module(cse,convert-gpu-to-nvvm)", 20, "runs on 'gpu.module', not on 'builtin.module'"),
        ("builtin.module(cse,test-broken-row)", 20, "there is no pass or pipeline 'frobnicate'"),
        ("builtin.module(test-endless-row)", 16, "contains itself"),
        ("gpu.module(cse)", 1, "runs on 'gpu.module', but this is 'builtin.module'"),
    ],
)
def test_wrong_pipelines_name_the_place_and_the_remedy(module, text, column, message):
    with pytest.raises(PipelineError, match="error") as caught:
        run_pipeline(module, text)
    assert message in caught.value.message
    assert caught.value.column == column


def test_a_failing_pass_raises_with_its_errors_and_stops_the_pipeline(module):
    with pytest.raises(ir.MLIRError) as caught:
        run_pipeline(module, "builtin.module(gpu.module(test-fail),test-log)")
    assert [each.message for each in caught.value.error_diagnostics] == ["first\nnote: a note", "second"]
    assert log == []


def test_collected_errors_keep_notes_and_remarks(module):
    with collecting(module.context, remarks=True) as said, pytest.raises(ir.MLIRError):
        run_pipeline(module, "builtin.module(test-fail)")
    assert [(each.severity, each.message) for each in said.seen] == [
        ("remark", "about to fail"),
        ("error", "first"),
        ("error", "second"),
    ]
    assert said.seen[1].notes[0].message == "a note"
    assert str(said.seen[1].place) == "-:2:1"


def test_a_bug_in_a_pass_names_the_pass(module):
    with pytest.raises(PassCrash, match="pass 'test-crash' raised KeyError: 'oops'"):
        run_pipeline(module, "builtin.module(gpu.module(test-crash))")
    run_pipeline(module, "builtin.module(test-log)")
    assert len(log) == 1


def test_instrumentation_sees_every_pass(module):
    seen = []

    class Watch:
        def before(self, op, path, name):
            seen.append(("before", "/".join(path), name))

        def after(self, op, path, name, seconds, failed):
            seen.append(("failed" if failed else "after", "/".join(path), name))

    with pytest.raises(ir.MLIRError):
        run_pipeline(module, "builtin.module(cse,func.func(canonicalize,test-fail),cse)", instrumentation=[Watch()])
    assert [each for each in seen if each[0] != "before"] == [
        ("after", "builtin.module", "cse"),
        ("after", "builtin.module/func.func", "canonicalize"),
        ("failed", "builtin.module/func.func", "test-fail"),
    ]
    assert len(seen) == 6


def test_parsing_takes_less_than_a_millisecond():
    text = "builtin.module(cse,test-log{n=2 s='a b'},gpu.module(test-gpu,canonicalize{max-iterations=1}),test-row)"
    parse_pipeline(text)
    times = []
    for _ in range(50):
        started = time.perf_counter()
        parse_pipeline(text)
        times.append(time.perf_counter() - started)
    assert sorted(times)[10] < 1e-3
