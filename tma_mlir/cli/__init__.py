"""The command lines: `tma-opt`, `tma-run`, `tma-explain`."""
