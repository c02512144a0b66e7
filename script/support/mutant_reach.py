"""Records which faults each suite reaches, by running it once without a fault."""

import concurrent.futures
import json
import threading

from mutant_runs import REACHED_BYTES, filter_of

# Targets that take long and reach most of the code. They are recorded last, and only on request.
SLOW_TARGETS = {"SimulationTests", "WholeStackSimulationTests", "DurabilityTests", "StoreTrialsTests"}


def record(runner, suites, path, workers, log=print):
    """Fills in what is known of the suites, and runs those of which nothing is known; returns those that pass.

    The file of records is kept for the same faults; a suite whose tests changed is recorded again.
    """
    known = {}
    if path.is_file():
        for line in path.read_text().split("\n"):
            if line:
                entry = json.loads(line)
                known[entry["suite"]] = entry
    missing = [suite for suite in suites if suite.key not in known]
    log(f"{len(suites)} suites, {len(missing)} of them to be recorded")
    lock = threading.Lock()

    def run(suite):
        for attempt in range(2):
            reached = path.parent / f"reached-{suite.name}"
            reached.write_bytes(bytes(REACHED_BYTES))
            outcome = runner.run([filter_of(suite.name)], 0, 3600, 3600, reached)
            numbers = [number for number, byte in enumerate(reached.read_bytes()) if byte]
            reached.unlink()
            if outcome.kind == "passed":
                break
        with lock:
            entry = {"suite": suite.key, "outcome": outcome.kind, "seconds": round(outcome.seconds, 2),
                     "processor": round(outcome.processor, 2), "reached": numbers, "tests": outcome.tests}
            known[suite.key] = entry
            with open(path, "a") as file:
                file.write(json.dumps(entry) + "\n")
            if outcome.kind != "passed":
                log(f"{suite.name} without a fault: {outcome.kind} ({', '.join(outcome.tests)})")

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, missing))
    for suite in suites:
        entry = known[suite.key]
        suite.outcome, suite.seconds, suite.processor = entry["outcome"], entry["seconds"], entry["processor"]
        suite.reached = frozenset(entry["reached"])
    return [suite for suite in suites if suite.outcome == "passed"]
