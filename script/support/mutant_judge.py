"""Decides of each fault whether a test notices it, with the suites that reach it."""

import concurrent.futures
import json
import threading
import time

from mutant_runs import filter_of, filter_of_test, suite_of

# The seconds without a fault of the suites that run together, of the first group, the second and so on.
GROUP_SECONDS = [10, 30, 90, 300]
# Suites whose target is named for a fault's module count as this part of their time, so that they run first.
OWN_TARGET_PART = 0.2


class Judge:
    def __init__(self, runner, suites, log_path, workers, seconds_max=None, until=None):
        self.runner = runner
        self.suites = suites
        self.log_path = log_path
        self.workers = workers
        self.seconds_max = seconds_max
        self.until = until
        self.lock = threading.Lock()
        self.known = {}

    def resume(self):
        """Reads the outcomes of an earlier run."""
        if self.log_path.is_file():
            for line in self.log_path.read_text().split("\n"):
                if line:
                    entry = json.loads(line)
                    self.known[entry["key"]] = entry

    def judge(self, mutants):
        """Tries faults on several processes at once; their outcomes are in the log."""
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(self.try_one, mutants))
        for mutant in mutants:
            entry = self.known.get(mutant.key)
            if entry:
                mutant.outcome, mutant.left, mutant.reaching = entry["outcome"], entry["left"], entry["reaching"]

    def order(self, mutant, suites):
        """The suites that reach a fault, the likeliest and quickest first."""

        def rank(suite):
            target = suite.name.split(".")[0]
            if suite.name in mutant.targets:
                return 0
            return suite.seconds * (OWN_TARGET_PART if target == mutant.targets[0] else 1)

        return sorted(suites, key=lambda suite: (rank(suite), suite.name))

    def try_one(self, mutant):
        if self.until is not None and time.monotonic() > self.until:
            return
        reaching = [suite for suite in self.suites if mutant.number in suite.reached]
        earlier = self.known.get(mutant.key)
        tried = set(earlier["tried"]) if earlier else set()
        if earlier and earlier["outcome"] != "unnoticed":
            return
        waiting = [suite for suite in self.order(mutant, reaching) if suite.key not in tried]
        spent = sum(suite.seconds for suite in reaching if suite.key in tried)
        if earlier and not waiting:
            return
        start, outcome, step, doubts = time.monotonic(), "unnoticed", 0, []
        while waiting and outcome == "unnoticed":
            if self.until is not None and time.monotonic() > self.until:
                break
            group, seconds = [], 0.0
            while waiting and (not group or seconds + waiting[0].seconds <= GROUP_SECONDS[step]):
                if self.seconds_max is not None and spent + seconds + waiting[0].seconds > self.seconds_max and tried | set(
                        suite.key for suite in group):
                    break
                group.append(waiting.pop(0))
                seconds += group[-1].seconds
            if not group:
                break
            outcome = self.run_group(mutant, group, doubts) or "unnoticed"
            tried |= {suite.key for suite in group}
            spent += seconds
            step = min(step + 1, len(GROUP_SECONDS) - 1)
        entry = {
            "key": mutant.key, "number": mutant.number, "outcome": outcome, "path": mutant.site.path,
            "line": mutant.site.line + 1, "kind": mutant.site.kind, "fault": mutant.name or mutant.site.first,
            "reaching": len(reaching), "left": len(waiting), "tried": sorted(tried), "doubts": doubts,
            "seconds": round(time.monotonic() - start, 1),
        }
        with self.lock:
            self.known[mutant.key] = entry
            with open(self.log_path, "a") as log:
                log.write(json.dumps(entry) + "\n")
            left = f" ({len(reaching)} suites reach it, {len(waiting)} not run)" if outcome == "unnoticed" else ""
            print(f"{mutant.number}: {outcome}{left}, {entry['seconds']:.0f} s: {mutant.site.path}:{mutant.site.line + 1} "
                  f"{mutant.name or mutant.site.first}", flush=True)

    def run_group(self, mutant, suites, doubts):
        """Runs suites together; returns how the fault was noticed, or nothing."""
        usual = sum(suite.seconds for suite in suites)
        processor = sum(suite.processor for suite in suites)
        found = self.runner.run(
            [filter_of(suite.name) for suite in suites], mutant.number, 180 + 8 * usual, 25 + 10 * processor)
        if found.kind in ("passed", "empty"):
            return None
        # Alone, with the fault and without it. A crash or a hang names every test that had not ended.
        tests = found.tests[:8]
        filters = [filter_of_test(test) for test in tests] or [filter_of(suite.name) for suite in suites]
        again = self.runner.run(filters, mutant.number, 180 + 8 * usual, 25 + 10 * processor)
        if again.kind in ("passed", "empty"):
            doubts.append(f"{found.kind} once: {', '.join(tests)}")
            return self.each(mutant, suites, doubts)
        noticed = [test for test in again.tests if test in tests] or again.tests or tests
        filters = [filter_of_test(test) for test in noticed] or filters
        without = self.runner.run(filters, 0, 300 + 8 * usual, 120 + 10 * processor)
        if without.kind != "passed":
            doubts.append(f"{without.kind} without the fault: {', '.join(without.tests)}")
            return self.each(mutant, suites, doubts)
        places = sorted({suite_of(test) for test in noticed}) or sorted(suite.name for suite in suites)
        return f"{again.kind}: {places[0]}"

    def each(self, mutant, suites, doubts):
        """The suites one by one, after a failure of them together that was not confirmed."""
        if len(suites) == 1:
            return None
        for suite in suites:
            outcome = self.run_group(mutant, [suite], doubts)
            if outcome:
                return outcome
        return None
