"""The C launcher, built with the package where there is a C compiler. All else is in pyproject.toml."""

import os
import runpy

from setuptools import Extension, setup

build = runpy.run_path(os.path.join("tma_mlir", "runtime", "native_build.py"))
launcher = Extension(
    "tma_mlir.runtime.native_launch",
    [os.path.join("tma_mlir", "runtime", "native_launch.c")],
    define_macros=build["macros"](),
    depends=[os.path.join("tma_mlir", "runtime", "native_build.py")],
    libraries=list(build["LIBRARIES"]),
    extra_compile_args=list(build["WARNINGS"]) if build["strict"]() else [],
    optional=not build["strict"](),  # without it launches go through Python, with the same results
)
# The digest follows the content of the source, which file times do not tell: nothing built before is taken again.
setup(ext_modules=[] if build["why_never"]() else [launcher], options={"build_ext": {"force": "1"}})
