from __future__ import annotations

import pytest

from support.processes import run_python
from tma_mlir.passes import registry
from tma_mlir.passes.registry import Option, Pass


def test_a_pass_is_found_by_the_name_of_its_file():
    entry = registry.find("tile-verify")
    assert entry is not None
    assert entry.argument == "tile-verify"


@pytest.mark.parametrize("name", ["registry", "pipeline", "cse", "", "../errors", "tile_verify", "é"])
def test_other_files_and_names_are_no_passes(name):
    assert registry.find(name) is None


def test_every_entry_is_declared_in_a_file_of_its_name():
    names = [entry.argument for entry in registry.entries()]
    assert "tile-verify" in names
    assert names == sorted(names)


def test_a_taken_name_is_refused():
    with pytest.raises(ValueError, match="'tile-verify' exists already"):
        registry.register(Pass("tile-verify", "Another.", lambda op, options: None))


def test_choices_are_enforced():
    option = Option("mode", str, "a", choices=("a", "b"))
    assert option.parse("b") == "b"
    with pytest.raises(ValueError, match="option 'mode' is one of a, b; not 'c'"):
        option.parse("c")


def test_importing_the_package_loads_neither_mlir_nor_cuda():
    code = "import sys, tma_mlir, tma_mlir.cli.opt; print(*{name.split('.')[0] for name in sys.modules})"
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert not {"mlir", "cuda", "numpy"} & set(loaded)
