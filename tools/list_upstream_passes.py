#!/usr/bin/env python3
"""Writes tma_mlir/passes/upstream_passes.txt from `mlir-opt --help` on standard input."""

from __future__ import annotations

import re
import sys

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
    print(name, passes[name], sep="\t")
