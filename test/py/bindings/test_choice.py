"""Which package of MLIR's bindings is used: by name, by variable, the first that is there, and what is said of none."""

import os
import subprocess
import sys

import pytest

from tma_mlir.bindings import choice


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Only these packages are installed: the numba one inside another package, IREE's in a namespace without a file."""

    def install(*names):
        for name in names:
            (tmp_path / name.replace(".", "/") / "_mlir_libs").mkdir(parents=True)

    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(choice, "_settled", None)
    monkeypatch.delenv(choice.VARIABLE, raising=False)
    return install


def test_the_first_that_is_there_is_used(packages):
    packages("jaxlib.mlir", "numba_cuda_mlir._mlir")
    assert choice.chosen() == "numba_cuda_mlir._mlir"
    assert choice.installed() == ("numba_cuda_mlir._mlir", "jaxlib.mlir")


def test_the_variable_goes_before_the_order(packages, monkeypatch):
    packages("mlir", "torch_mlir")
    monkeypatch.setenv(choice.VARIABLE, "torch_mlir")
    assert choice.chosen() == "torch_mlir"


def test_a_call_goes_before_the_variable(packages, monkeypatch):
    packages("mlir", "torch_mlir", "mine.mlir")
    monkeypatch.setenv(choice.VARIABLE, "torch_mlir")
    choice.use_bindings("mine.mlir")
    assert choice.chosen() == "mine.mlir"


def test_it_stays(packages):
    packages("mlir", "torch_mlir")
    assert choice.chosen() == "mlir"
    choice.use_bindings("mlir")
    with pytest.raises(RuntimeError, match="the bindings mlir are in use already"):
        choice.use_bindings("torch_mlir")


def test_a_package_of_that_name_without_bindings_is_passed_over(packages, tmp_path):
    (tmp_path / "mlir").mkdir()
    (tmp_path / "mlir" / "__init__.py").write_text("")
    packages("torch_mlir")
    assert choice.chosen() == "torch_mlir"


def test_a_name_that_is_not_there_is_an_error_with_those_that_are(packages, monkeypatch):
    packages("torch_mlir")
    monkeypatch.setenv(choice.VARIABLE, "mlir")
    with pytest.raises(ImportError, match=r"no MLIR Python bindings in a package 'mlir'\. Installed are torch_mlir"):
        choice.chosen()


def test_without_any_the_error_names_the_extra(packages):
    with pytest.raises(ImportError, match=r"no MLIR Python bindings are installed: pip install 'tma-mlir\[mlir\]'"):
        choice.chosen()


def test_a_tool_says_it_in_one_line(tmp_path):
    from tma_mlir.cli import opt

    root = os.path.dirname(os.path.dirname(os.path.dirname(opt.__file__)))
    (tmp_path / "kernel.mlir").write_text("module {}")
    done = subprocess.run(
        [sys.executable, os.path.join(root, "tools", "tma-run"), "kernel.mlir"],
        env={**os.environ, choice.VARIABLE: "not_there"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tma-run: error: there are no MLIR Python bindings in a package 'not_there'")
    assert len(done.stderr.splitlines()) == 1
