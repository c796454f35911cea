"""Execute single tensor-map copies on a GPU and compare memory with CRCs: ``probe_tensor_maps.py ROWS.jsonl.gz``.

Reads load and store rows in the format of the H200 captures. Needs an NVIDIA driver and a GPU of compute capability
9.0, NumPy, and nothing of this package: the kernels are a few lines of PTX that the driver assembles. Prints
``agree N of M`` last.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import sys
import zlib
from pathlib import Path

import numpy as np

DATA_TYPES = (
    "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bfloat16",
    "float32_ftz", "tfloat32", "tfloat32_ftz",
)  # fmt: skip
SWIZZLES = ("none", "32b", "64b", "128b")
THREADS = 128
MEMORY_BYTES = 1 << 26
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

PROLOGUE = """
 .reg .b32 %c<6>; .reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .pred %p<6>;
 ld.param.u32 %c0, [c0]; ld.param.u32 %c1, [c1]; ld.param.u32 %c2, [c2]; ld.param.u32 %c3, [c3]; ld.param.u32 %c4, [c4];
 ld.param.u32 %r1, [shared]; ld.param.u32 %r2, [tx]; ld.param.u64 %rd1, [buffer]; ld.param.u32 %r3, [words];
 cvta.to.global.u64 %rd1, %rd1;
 mov.u32 %r4, %tid.x; mov.u32 %r5, smem; add.u32 %r6, %r5, %r1;
 mov.b64 %rd2, map; cvta.param.u64 %rd3, %rd2; mov.u32 %r7, %r4; setp.ne.u32 %p2, %r4, 0;
"""
EACH_WORD = "setp.ge.u32 %p1, %r7, %r3; @%p1 bra {after}; shl.b32 %r8, %r7, 2; add.u32 %r11, %r5, %r8;"
ADDRESS = "cvt.u64.u32 %rd5, %r8; add.u64 %rd6, %rd1, %rd5;"
LOAD = """
FILL: {fill} mov.b32 %r9, 0xCDCDCDCD; st.shared.b32 [%r11], %r9; add.u32 %r7, %r7, 128; bra FILL;
FILLED: fence.proxy.async; mov.u32 %r10, bar; @%p2 bra READY;
 mbarrier.init.shared.b64 [%r10], 1; fence.proxy.async;
READY: bar.sync 0; @%p2 bra WAIT;
 mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r10], %r2;
 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
   [%r6], [%rd3, {{{start}}}], [%r10];
WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra WAIT;
 bar.sync 0; mov.u32 %r7, %r4;
OUT: {out} ld.shared.b32 %r9, [%r11]; {address} st.global.b32 [%rd6], %r9; add.u32 %r7, %r7, 128; bra OUT;
"""
STORE = """
IN: {out} {address} ld.global.b32 %r9, [%rd6]; st.shared.b32 [%r11], %r9; add.u32 %r7, %r7, 128; bra IN;
FILLED: fence.proxy.async; bar.sync 0; @%p2 bra DONE;
 cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%rd3, {{{start}}}], [%r6];
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
"""


def kernels() -> str:
    """PTX of ``load1`` .. ``load5`` and ``store1`` .. ``store5``."""
    parameters = ".param .align 64 .b8 map[128], " + ", ".join(f".param .u32 c{i}" for i in range(5))
    parameters += ", .param .u32 shared, .param .u32 tx, .param .u64 buffer, .param .u32 words"
    text = [".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];"]
    for rank in range(1, 6):
        start = ", ".join(f"%c{i}" for i in range(rank))
        load = LOAD.format(
            fill=EACH_WORD.format(after="FILLED"), out=EACH_WORD.format(after="DONE"), address=ADDRESS, rank=rank,
            start=start,
        )  # fmt: skip
        store = STORE.format(out=EACH_WORD.format(after="FILLED"), address=ADDRESS, rank=rank, start=start)
        barrier = " .shared .align 8 .b64 bar;"
        text.append(f".visible .entry load{rank}({parameters}) {{\n{barrier}{PROLOGUE}{load}DONE: ret; }}")
        text.append(f".visible .entry store{rank}({parameters}) {{\n{PROLOGUE}{store}DONE: ret; }}")
    return "\n".join(text)


class Gpu:
    """The few driver calls that are needed, through ctypes."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(self.module), kernels().encode() + b"\0")
        self.tensor, self.buffer = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.tensor), ctypes.c_size_t(MEMORY_BYTES))
        self.call("cuMemAlloc_v2", ctypes.byref(self.buffer), ctypes.c_size_t(1 << 18))
        self.memory = ctypes.create_string_buffer(256)
        self.descriptor = ctypes.c_void_p(-(-ctypes.addressof(self.memory) // 128) * 128)

    def call(self, name: str, *arguments) -> None:
        code = getattr(self.driver, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {code} {(text.value or b'').decode()}")

    def upload(self, target: ctypes.c_uint64, data: np.ndarray) -> None:
        self.call("cuMemcpyHtoD_v2", target, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))

    def download(self, source: ctypes.c_uint64, count: int) -> np.ndarray:
        data = np.empty(count, np.uint8)
        self.call("cuMemcpyDtoH_v2", data.ctypes.data_as(ctypes.c_void_p), source, ctypes.c_size_t(count))
        return data

    def encode(self, row: dict) -> None:
        rank = len(row["global_dim"])
        self.call(
            "cuTensorMapEncodeTiled",
            self.descriptor,
            DATA_TYPES.index(row["dtype"]),
            rank,
            ctypes.c_void_p(self.tensor.value + row["base_offset"]),
            (ctypes.c_uint64 * rank)(*row["global_dim"]),
            (ctypes.c_uint64 * rank)(*row["global_stride"]),
            (ctypes.c_uint32 * rank)(*row["box"]),
            (ctypes.c_uint32 * rank)(*row["element_stride"]),
            0,
            SWIZZLES.index(row["swizzle"]),
            2,
            int(row["oob_fill"] == "nan"),
        )

    def launch(self, row: dict) -> None:
        function = ctypes.c_void_p()
        name = f"{row['kind']}{len(row['global_dim'])}".encode()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, name)
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, 1 << 17)
        values: list = [ctypes.c_int32(c) for c in (*row["coords"], 0, 0, 0, 0, 0)[:5]]
        values += [ctypes.c_uint32(row.get("shared_offset", 0)), ctypes.c_uint32(row.get("tx_bytes", 0))]
        values += [self.buffer, ctypes.c_uint32(row["smem_bytes"] // 4)]
        pointers = [self.descriptor.value, *map(ctypes.addressof, values)]
        arguments = (ctypes.c_void_p * len(pointers))(*pointers)
        self.call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, row["smem_bytes"], None, arguments, None)
        self.call("cuCtxSynchronize")


def random_bytes(seed: int, count: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 256, count, dtype=np.uint8)


def executed(gpu: Gpu, row: dict) -> int:
    """CRC of what the copy wrote to: shared memory of a load, global memory of a store."""
    size = np.dtype({"bfloat16": "u2"}.get(row["dtype"], row["dtype"].replace("tfloat", "float").removesuffix("_ftz")))
    strides = zip(row["global_dim"][1:], row["global_stride"], strict=False)
    span = row["global_dim"][0] * size.itemsize + sum((extent - 1) * stride for extent, stride in strides)
    gpu.upload(gpu.tensor, random_bytes(row["seed"], span + row["base_offset"] + 64))
    gpu.encode(row)
    if row["kind"] == "load":
        gpu.launch(row)
        return zlib.crc32(gpu.download(gpu.buffer, row["smem_bytes"]).tobytes())
    gpu.upload(gpu.buffer, random_bytes(row["seed"] + 1, row["smem_bytes"]))
    gpu.launch(row)
    return zlib.crc32(gpu.download(gpu.tensor, row["gmem_bytes"]).tobytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="rows, one JSON object a line, gzip")
    options = parser.parse_args()
    gpu = Gpu()
    agree = total = 0
    for path in options.data:
        with gzip.open(path, "rt") as lines:
            for line in lines:
                row = json.loads(line)
                total += 1
                if executed(gpu, row) == row["crc32"]:
                    agree += 1
                elif total - agree <= 5:
                    print({key: value for key, value in row.items() if key != "dump_zlib_b64"})
    print(f"agree {agree} of {total}")
    return 0 if agree == total else 1


if __name__ == "__main__":
    sys.exit(main())
