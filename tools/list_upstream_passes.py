#!/usr/bin/env python3
"""Writes tma_mlir/passes/upstream_passes.txt from `mlir-opt --help` on standard input: name, class and summary of every
pass. The class, which `IR Dump Before CSE (cse)` shows, is what MLIR prints for it; pipelines have none."""

from __future__ import annotations

import os
import re
import sys
import tempfile

from tma_mlir.bindings import ir, passmanager

ANCHORS = {
    "builtin.module": "module {}",
    "func.func": "func.func @f() { return }",
    "gpu.module": "gpu.module @m {}",
    "gpu.func": "gpu.module @m { gpu.func @f() { gpu.return } }",
    "llvm.func": "llvm.func @f() { llvm.return }",
    "spirv.module": "spirv.module Logical GLSL450 {}",
    "emitc.func": "emitc.func @f() { return }",
}
"""What a pass may have to run on, and a program that has it."""


def class_of(name: str) -> str:
    """What MLIR prints for the class of the pass ``name``; "" for a pipeline. In a child: some end the process."""
    for anchor in ANCHORS:
        with tempfile.TemporaryFile() as printed:
            child = os.fork()
            if child == 0:
                os.dup2(printed.fileno(), 2)
                try:
                    run_printing(name, anchor)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            printed.seek(0)
            shown = re.search(r"IR Dump Before (.*?) \(([\w-]+)\)", printed.read().decode(errors="replace"))
        if shown:
            return shown[1] if shown[2] == name else ""
    return ""


def run_printing(name: str, anchor: str) -> None:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(ANCHORS[anchor])
        op = module.operation
        while op.name != anchor:
            op = op.regions[0].blocks[0].operations[0].operation
        manager = passmanager.PassManager(anchor)
        manager.add(name)
        manager.enable_ir_printing(print_before_all=True, print_after_all=False)
        manager.run(op)


passes: dict[str, str] = {}
section = False
for line in sys.stdin:
    if re.match(r"    (Passes|Pass Pipelines):", line):
        section = True
    elif re.match(r" {0,5}-", line):
        section = False
    entry = re.match(r" {6}--(\S+?)(?:=<\w+>)? +- +(.*)", line)
    if section and entry:
        passes[entry[1]] = entry[2].strip()
for name in sorted(passes):
    print(name, class_of(name), passes[name], sep="\t")
