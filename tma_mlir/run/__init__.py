"""Running a compiled kernel once and judging the result: what ``tma-run`` is made of."""
