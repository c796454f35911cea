"""Change the code of the planner, layouts, lowering and ABI in one place at a time, and see whether a test fails.

PYTHONPATH=tools:test/py python -m mutation record                  which test runs which line: once, 10 minutes
PYTHONPATH=tools:test/py python -m mutation run --only plan/rules   try the changes; results are added to a file
PYTHONPATH=tools:test/py python -m mutation report                  scores, and every change that no test noticed
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from . import trial
from .coverage_map import PYTEST_OPTIONS, ROOMS, SUITES, TOP, CoverageMap, record
from .operators import Mutant, mutants

MAP = TOP / "build" / "mutation" / "map.json"
RESULTS = TOP / "build" / "mutation" / "results.jsonl"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="mutation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["record", "run", "report"])
    parser.add_argument("--map", type=Path, default=MAP, help="the tests of each line")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a line of JSON for each change")
    parser.add_argument("--only", nargs="*", default=list(ROOMS), help="folders or files below tma_mlir/")
    parser.add_argument("--tests", nargs="*", default=[], help="record these alone, and add them to what is recorded")
    parser.add_argument("--sample", type=int, help="so many changes at most, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="those that survived an earlier run, and no others")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no change after so long")
    parser.add_argument("--tests-seconds", type=float, default=20, help="the most that the tests of one change take")
    options = parser.parse_args()
    if options.what == "record":
        record(options.map, options.workers, options.tests)
        return 0
    if options.what == "report":
        return report(options.results, options.only)
    return run(options)


def chosen_mutants(only: list[str]) -> list[Mutant]:
    """All changes of the files chosen, in the order of files and lines."""
    files = sorted({file for each in only for file in _python_files(TOP / "tma_mlir" / each)})
    return [each for file in files for each in mutants(str(file.relative_to(TOP)), file.read_bytes())]


def _python_files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else list(path.rglob("*.py"))
    if not found:
        sys.exit(f"error: {path.relative_to(TOP)} has no Python files")
    return found


def run(options: argparse.Namespace) -> int:
    """Try changes until all are tried or the time is over; 0 as long as the machinery works."""
    earlier = _read_results(options.results)
    todo = [each for each in chosen_mutants(options.only) if _wanted(earlier.get(key(each)), options.again)]
    if options.sample is not None and options.sample < len(todo):
        todo = random.Random(options.seed).sample(todo, options.sample)
    else:
        random.Random(options.seed).shuffle(todo)  # slow ones do not come together
    if not todo:
        print("nothing to try")
        return 0
    loop = Loop(todo, CoverageMap.read(options.map), options)
    with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):  # thousands of tests fail
        code = pytest.main(["-s", *PYTEST_OPTIONS, *(f"test/py/{suite}" for suite in SUITES)], plugins=[loop])
    if not loop.ran:
        return int(code) or 1
    return report(options.results, options.only)


class Loop:
    """pytest plugin: with all tests collected, tries the changes in place of running the tests."""

    def __init__(self, todo: list[Mutant], tests: CoverageMap, options: argparse.Namespace):
        self.todo = todo
        self.tests = tests
        self.options = options
        self.ran = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.collect()
        gc.freeze()  # forks share these pages
        by_name = {item.nodeid: item for item in session.items}
        items = {place: by_name[name] for place, name in enumerate(self.tests.tests) if name in by_name}
        context = multiprocessing.get_context("fork")
        good = self._passing(context, items)
        ends = time.monotonic() + self.options.seconds
        items = {place: item for place, item in items.items() if place in good}
        results, counter = context.Queue(), context.Value("i", 0)
        with tempfile.TemporaryDirectory() as folder:
            workers = []
            for number in range(self.options.workers):
                log = Path(folder) / f"{number}.log"
                trials = trial.Trials(items, self.tests.seconds, self.options.tests_seconds, log)
                workers.append(context.Process(target=self._work, args=(trials, counter, results, ends)))
            for worker in workers:
                worker.start()
            _collect(results, len(workers), self.todo, self.options.results)
            for worker in workers:
                worker.join()
        self.ran = True
        return True

    def _passing(self, context: Any, items: dict[int, pytest.Item]) -> set[int]:
        """The tests that pass in a fork while nothing is changed: no other says anything of a change.

        What was found once is kept beside the map.
        """
        kept = self.options.map.with_suffix(".passing.json")
        known: dict[str, bool] = json.loads(kept.read_text()) if kept.exists() else {}
        names = self.tests.tests
        asked = [place for place in items if names[place] not in known]
        results = context.Queue()
        trials = trial.Trials(items, self.tests.seconds, float("inf"), Path(os.devnull))

        def check(part: list[int]) -> None:
            results.put(trials.passing(part))

        workers = self.options.workers
        checkers = [context.Process(target=check, args=(asked[number::workers],)) for number in range(workers)]
        for checker in checkers:
            checker.start()
        good = {test for _ in checkers for test in results.get()}
        for checker in checkers:
            checker.join()
        known.update({names[place]: place in good for place in asked})
        kept.write_text(json.dumps(known))
        passing = {place for place, name in enumerate(names) if known.get(name)}
        print(f"{len(passing)} of {len(names)} tests pass here", file=sys.stderr)
        return passing

    def _work(self, trials: trial.Trials, counter: Any, results: Any, ends: float) -> None:
        while time.monotonic() < ends:
            with counter.get_lock():
                place = counter.value
                counter.value += 1
            if place >= len(self.todo):
                break
            each = self.todo[place]
            order = self.tests.covering(each.path, each.line, each.last_line) or self.tests.touching(each.path)
            began = time.monotonic()
            outcome, count = trials.outcome(each, order)
            results.put((place, outcome, count, round(time.monotonic() - began, 2)))
        results.put(None)


def _collect(results, running: int, todo: list[Mutant], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        while running:
            got = results.get()
            if got is None:
                running -= 1
                continue
            place, outcome, tests, seconds = got
            result = {"key": key(todo[place]), "outcome": outcome, "tests": tests, "seconds": seconds}
            out.write(json.dumps(result) + "\n")
            out.flush()


def key(each: Mutant) -> str:
    """What stays the same from one Python to the next: how code is printed does not."""
    return f"{each.path}:{each.line}:{each.column}|{each.operator}|{each.old}"


def _wanted(earlier: dict | None, again: bool) -> bool:
    return earlier is not None and earlier["outcome"] in (trial.SURVIVED, trial.UNCOVERED) if again else earlier is None


def _read_results(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    return {result["key"]: result for result in map(json.loads, path.read_text().splitlines())}


def report(path: Path, only: list[str]) -> int:
    """Print the score of each room, and each change that no test noticed."""
    results = _read_results(path)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in chosen_mutants(only):
        result = results.get(key(each))
        room = "/".join(Path(each.path).parts[1:-1])
        counts[room][result["outcome"] if result else "not tried"] += 1
        if result and result["outcome"] in (trial.SURVIVED, trial.UNCOVERED):
            old, new = (" ".join(text.split())[:90] for text in (each.old, each.new))
            print(f"{each.name}: {old}   ->   {new}   ({result['outcome']})")
    for room, of_room in sorted(counts.items()):
        tried = sum(of_room.values()) - of_room["not tried"]
        dead = of_room[trial.KILLED] + of_room[trial.TIMEOUT]
        print(f"{room}: {dead} of {tried} noticed ({100 * dead / max(1, tried):.1f} %), {dict(of_room)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
