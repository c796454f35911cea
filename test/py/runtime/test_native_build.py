"""The C launcher as an installation makes it: with a compiler, without one, and what wheel and sdist hold."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tma_mlir.runtime import native_build

ROOT = Path(__file__).parents[3]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
NO_COMPILER = "no C compiler, or no headers of this Python"
WITHOUT_COMPILER = not COMPILER or not Path(sysconfig.get_path("include"), "Python.h").exists()

pytestmark = pytest.mark.skipif(bool(native_build.why_never()), reason=native_build.why_never())


@pytest.fixture
def tree(tmp_path):
    """A copy of what an installation reads, without anything built."""
    pytest.importorskip("setuptools")
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "tma_mlir", tree / "tma_mlir", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    return tree


def build(tree, *command, **environment):
    """What ``setup.py`` answered, and the launchers that lie in the package then."""
    chosen = {name: value for name, value in os.environ.items() if name != "TMA_MLIR_WERROR"}
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", *command], cwd=tree, env={**chosen, **environment},
        capture_output=True, text=True,
    )  # fmt: skip
    return done, list((tree / "tma_mlir" / "runtime").glob("*.so"))


def test_without_a_compiler_the_installation_succeeds(tree):
    done, built = build(tree, "build_ext", "--inplace", CC="/nowhere/cc")
    assert done.returncode == 0, done.stderr
    assert built == []


@pytest.mark.skipif(WITHOUT_COMPILER, reason=NO_COMPILER)
def test_a_warning_stops_only_a_strict_build(tree):
    source = tree / "tma_mlir" / "runtime" / "native_launch.c"
    source.write_text(source.read_text() + "static int never_called(int unused) { return 0; }\n")
    strict, built = build(tree, "build_ext", "--inplace", TMA_MLIR_WERROR="1")
    assert strict.returncode != 0
    assert "never_called" in strict.stderr
    assert built == []
    done, built = build(tree, "build_ext", "--inplace")
    assert done.returncode == 0, done.stderr
    assert len(built) == 1


@pytest.mark.skipif(WITHOUT_COMPILER, reason=NO_COMPILER)
def test_it_is_strict_where_that_is_asked_for_and_the_result_names_its_source(tree):
    done, (built,) = build(tree, "build_ext", "--inplace", TMA_MLIR_WERROR="1")
    assert done.returncode == 0, done.stderr
    assert built.name == native_build.file_name()
    assert native_build.is_current(built)


@pytest.mark.skipif(WITHOUT_COMPILER, reason=NO_COMPILER)
def test_wheel_and_sdist_hold_what_is_needed(tree):
    done, _ = build(tree, "sdist", "bdist_wheel")
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = (tree / "dist").glob("*.whl"), (tree / "dist").glob("*.tar.gz")
    packed = zipfile.ZipFile(wheel).namelist()
    assert f"tma_mlir/runtime/{native_build.file_name()}" in packed
    assert "tma_mlir/runtime/native_launch.c" in packed  # for TMA_MLIR_NATIVE=build
    assert "tma_mlir/py.typed" in packed
    assert any(name.endswith("LICENSE") for name in packed)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "tma_mlir/runtime/native_launch.c", "tma_mlir/runtime/native_build.py"} <= names
    assert not any(name.endswith(".so") for name in names)
