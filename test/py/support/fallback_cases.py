"""Copies that TMA cannot make, one kernel each, by name."""

from __future__ import annotations

from .copy_kernels import global_type, load, store

ODD_START = ["%row", "%column"]

CASES: dict[str, tuple[str, dict[str, str]]] = {
    "odd pitch": (load(global_type([64, 1733], "f32"), [16, 64], element="f32", offsets=[3, 8]), {}),
    "odd pitch f16": (load(global_type([64, 101], "f16"), [16, 64], element="f16"), {}),
    "odd start": (load(global_type([64, 256], "bf16"), [16, 64], element="bf16", offsets=[0, 130]), {}),
    "odd start in a swizzled tile": (
        load(
            global_type([64, 256], "f16"), [16, 64], element="f16", offsets=[1, 3],
            attributes='swizzle = #tile.swizzle<"128B">',
        ),
        {},
    ),
    "odd start in atoms": (
        load(
            global_type([64, 258], "f16"), [16, 128], element="f16", offsets=[1, 66],
            attributes='destination_layout = #tile.atoms<"128B">',
        ),
        {},
    ),
    "start known at run time, odd": (
        load(
            global_type([64, 256], "f16"), [16, 64], element="f16", offsets=ODD_START,
            arguments="%row: index, %column: index",
        ),
        {"a2": "5", "a3": "77"},
    ),
    "start known at run time, even": (
        load(
            global_type([64, 256], "f16"), [16, 64], element="f16", offsets=ODD_START,
            arguments="%row: index, %column: index",
        ),
        {"a2": "5", "a3": "72"},
    ),
    "start known at run time, store": (
        store(
            global_type([64, 256], "f16"), [16, 64], element="f16", offsets=ODD_START,
            arguments="%row: index, %column: index",
        ),
        {"a2": "5", "a3": "77"},
    ),
    "int4 pairs in odd rows": (load(global_type([32, 37], "i8"), [16, 33], element="i8", offsets=[1, 2]), {}),
    "transpose": (load(global_type([32, 64], "f16", "[1, 32]"), [32, 64], element="f16"), {}),
    "transpose on the way out": (store(global_type([32, 64], "f32", "[1, 32]"), [32, 64], element="f32"), {}),
    "3-byte rows": (load(global_type([40, 3], "i8"), [32, 3], element="i8", offsets=[4, 0]), {}),
    "3-byte rows out": (store(global_type([40, 3], "i8"), [32, 3], element="i8", offsets=[4, 0]), {}),
    "empty tensor": (load(global_type([0, 64], "f16"), [8, 64], element="f16"), {}),
    "tail of a row that ends inside 16 bytes": (
        store(global_type([16, 67], "f32", "[128, 1]"), [16, 64], element="f32", offsets=[0, 64]),
        {},
    ),
    "store one element into the row": (
        store(global_type([32, 64], "i32"), [32, 32], element="i32", offsets=[0, 1]),
        {},
    ),
    "NaN fill at an odd pitch": (
        load(global_type([20, 33], "f32"), [16, 32], element="f32", offsets=[8, 16], attributes='oob = "nan"'),
        {},
    ),
    "cp.async": (
        load(global_type([64, 36], "f32"), [16, 32], element="f32", offsets=[50, 4], attributes='variant = "cp_async"'),
        {},
    ),
    "bulk": (
        load(global_type([65536], "i8"), [16384], element="i8", offsets=[1024], attributes='variant = "bulk"'),
        {},
    ),
    "bulk store": (
        store(global_type([65536], "i8"), [16384], element="i8", offsets=[512], attributes='variant = "bulk"'),
        {},
    ),
}  # fmt: skip
"""Kernel text and its scalar arguments (``a2="5"`` for argument 2)."""
