"""The public functions say what they take, to whom gives them something else."""

import pytest

import tma_mlir
from tma_mlir.bindings import ir
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline_text import PipelineError


def module():
    with make_context():
        return ir.Module.parse("module { module @inner {} }")


def test_a_pipeline_runs_on_a_module_as_on_its_operation():
    for op in (module(), module().operation):
        tma_mlir.run_pipeline(op, "builtin.module(cse)")


@pytest.mark.parametrize("op", [None, "builtin.module", 5, object()])
def test_a_pipeline_runs_on_operations_only(op):
    with pytest.raises(TypeError, match="a pipeline runs on an operation or a module, not on"):
        tma_mlir.run_pipeline(op, "builtin.module(cse)")


def test_an_operation_that_was_erased_is_not_run_on_and_not_compiled():
    outer = module()
    (inner,) = outer.body.operations
    inner.operation.erase()
    with pytest.raises(ValueError, match="a pipeline cannot run: the operation has been invalidated"):
        tma_mlir.run_pipeline(inner, "builtin.module(cse)")
    with pytest.raises(ValueError, match="the source cannot be read: the operation has been invalidated"):
        tma_mlir.compile_all(inner, "sm_90a", cache=False)


@pytest.mark.parametrize("text", [None, b"builtin.module(cse)", 5])
def test_a_pipeline_is_a_text(text):
    with pytest.raises(TypeError, match="a pipeline is a text"):
        tma_mlir.parse_pipeline(text)
    with pytest.raises(TypeError, match="a pipeline is a text"):
        tma_mlir.run_pipeline(module(), text)


def test_a_pipeline_of_endless_anchors_is_an_error_of_its_text():
    with pytest.raises(PipelineError, match="more than 100 anchors inside each other"):
        tma_mlir.parse_pipeline("builtin.module(" * 5000)


@pytest.mark.parametrize("context", [None, 5, object()])
def test_the_dialect_is_loaded_into_contexts_only(context):
    with pytest.raises(TypeError, match="is not an MLIR context"):
        tma_mlir.load(context)


@pytest.mark.parametrize(
    ("entry", "kind", "text"),
    [
        (tma_mlir.Option("x"), TypeError, "a Option is not a Pass or a Pipeline"),
        (tma_mlir.Pass("wrong-run", "", "x"), TypeError, "needs a function that runs it"),  # type: ignore[arg-type]
        (tma_mlir.Pipeline("wrong-build", "", None), TypeError, "that builds it"),  # type: ignore[arg-type]
        (tma_mlir.Pass("Upper", "", print), ValueError, "'Upper' cannot be a flag"),
        (tma_mlir.Pass(5, "", print), TypeError, "are text"),  # type: ignore[arg-type]
        (tma_mlir.Pass("wrong-options", "", print, ["x"]), TypeError, "a tuple of Option"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_a_pass_is_not_registered(entry, kind, text):
    with pytest.raises(kind, match=text):
        tma_mlir.register(entry)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"chip": None}, TypeError), ({"chip": ["sm_90a"]}, TypeError), ({"assembler": 5}, TypeError),
        ({"assembler_options": "-lineinfo"}, TypeError), ({"assembler_options": [5]}, TypeError),
        ({"opt_level": 4}, ValueError), ({"opt_level": "3"}, ValueError),
    ],
)  # fmt: skip
def test_options_of_other_types_are_refused_before_anything_is_compiled(options, kind):
    with pytest.raises(kind):
        tma_mlir.compile_all("not MLIR", **{"chip": "sm_90a", "cache": False, **options})
