from support.processes import run_python


def test_import_loads_neither_mlir_nor_the_driver():
    code = (
        "import sys; sys.modules['mlir'] = None; import tma_mlir.runtime, tma_mlir.assembler; "
        "print([m for m in ('cuda.bindings.driver', 'torch', 'cupy', 'jax') if m in sys.modules])"
    )
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_without_a_driver_the_error_says_what_to_do():
    code = (
        "import sys; sys.modules['cuda.bindings'] = None\n"
        "from tma_mlir.runtime import NoDevice, available, driver\n"
        "assert not available()\n"
        "try: driver.cuda()\n"
        "except NoDevice as error: print(error)\n"
    )
    assert "pip install 'tma-mlir[cuda]'" in run_python(code).stdout
