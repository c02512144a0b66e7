"""Runs test suites with a fault, and without one to record which faults each suite reaches.

A machine that is busy must not count as a fault that is noticed. So a run only counts as hung when its processes neither use
processor time nor wait for it, or far more of it than without the fault; and a failure only counts when the test that failed
fails again alone with the fault, and passes alone without it.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUNDLE = ".build/debug/welkinPackageTests.xctest"
# The line of a run that reports a failure.
FAILURE = re.compile(r"\W* (Test|Suite) .* recorded an issue")
# Bytes of the file in which a run notes the faults that it reaches; MutantSwitch.swift has the same number.
REACHED_BYTES = 65_536
# A run whose processes do nothing for this many seconds hangs.
IDLE_SECONDS_MAX = 45


@dataclasses.dataclass
class Suite:
    """A suite at the top of its target, and how it ran without a fault."""

    name: str
    tests: str  # A digest of the names of its tests.
    outcome: str = ""
    seconds: float = 0.0
    processor: float = 0.0
    reached: frozenset = frozenset()

    @property
    def key(self):
        return f"{self.name}#{self.tests}"


@dataclasses.dataclass
class Outcome:
    """The end of a run: `passed`, `failed`, `crashed`, `hung` or `empty` (no test has that name)."""

    kind: str
    seconds: float
    processor: float
    tests: list  # The tests that failed or had not ended, by their identifiers.


class Runner:
    """Runs tests of a built copy."""

    def __init__(self, folder, prefix, width):
        self.folder = folder
        self.prefix = prefix
        self.width = width

    def command(self, arguments):
        return [*self.prefix, BUNDLE, "--testing-library", "swift-testing", *arguments]

    def list_suites(self):
        """The suites of all targets; tests outside of a suite belong to one named after their target."""
        run = subprocess.run(
            self.command(["--list-tests"]), cwd=self.folder, capture_output=True, text=True)
        found = {}
        for line in run.stdout.split("\n"):
            name = line.strip()
            if re.match(r"^\w+\.\S", name):
                found.setdefault(suite_of(name), []).append(name)
        if not found:
            sys.exit(f"the tests cannot be listed: {run.stderr[-2000:]}")
        return [Suite(name, hashlib.sha256("\n".join(sorted(tests)).encode()).hexdigest()[:12])
                for name, tests in sorted(found.items())]

    def run(self, filters, number, seconds_max, processor_max, reached=None):
        """Runs the tests that match one of the filters, until one fails."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="wm-"))
        events = folder / "events"
        environment = dict(
            os.environ, WELKIN_MUTANT=str(number), TMPDIR=str(folder),
            SIMULATION_SEEDS=os.environ.get("SIMULATION_SEEDS", "40"),
            SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=str(self.width))
        if reached:
            environment["WELKIN_MUTANTS_REACHED"] = str(reached)
        start = time.monotonic()
        process = subprocess.Popen(
            self.command(["--parallel", "--event-stream-output-path", str(events), "--event-stream-version", "0",
                          "--filter", "|".join(filters)]),
            cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            kind, processor = self.watch(process, start, seconds_max, processor_max)
            seconds = time.monotonic() - start
            tests = [] if kind == "passed" else open_or_failed(events, kind)
            return Outcome(kind, seconds, processor, tests)
        finally:
            end(process)
            process.wait()
            process.stdout.close()
            shutil.rmtree(folder, ignore_errors=True)

    def watch(self, process, start, seconds_max, processor_max):
        """Waits for the end of a run, or for what decides it before; returns it and the processor time."""
        output, rest = process.stdout.fileno(), b""
        idle_since, usage, sampled = time.monotonic(), 0.0, 0.0
        open_output = True
        while True:
            if open_output and select.select([output], [], [], 1)[0]:
                data = os.read(output, 65_536)
                open_output = bool(data)
                *lines, rest = (rest + data).split(b"\n")
                if any(FAILURE.match(line.decode(errors="replace")) for line in lines):
                    # One failure is enough. The event of it may still be on its way to the file.
                    time.sleep(0.3)
                    return "failed", usage
            elif not open_output:
                time.sleep(0.2)
            code = process.poll()
            if code is not None:
                kind = {0: "passed", 1: "failed", 69: "empty"}.get(code, "crashed")
                return kind, usage
            now = time.monotonic()
            if now - sampled < 2:
                continue
            sampled = now
            used, is_ready = session_usage(process.pid)
            if is_ready or used > usage + 0.02:
                idle_since = now
            usage = max(usage, used)
            if now - idle_since > IDLE_SECONDS_MAX or usage > processor_max or now - start > seconds_max:
                return "hung", usage


def suite_of(test):
    """The suite at the top of a test's identifier, `Target.Suite/test()`."""
    target, _, rest = test.partition(".")
    name, slash, _ = rest.partition("/")
    return f"{target}.{name}" if slash and not name.endswith(")") else target


def filter_of(suite):
    """The pattern of the identifiers of a suite's tests."""
    return f"^{re.escape(suite)}/" if "." in suite else f"^{re.escape(suite)}[.][^/]*[(]"


def filter_of_test(test):
    """The pattern of a test's identifier, whatever characters are in its name."""
    return "^" + re.sub(r"[^A-Za-z0-9]", ".", test) + "(/|$)"


def open_or_failed(events, kind):
    """The tests that failed; of a run that did not end, those that had not ended."""
    failed, running = [], {}
    try:
        lines = events.read_text(errors="replace").split("\n")
    except OSError:
        return []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("kind") != "event":
            continue
        payload = record["payload"]
        test = payload.get("testID")
        if not test:
            continue
        # The identifier ends with the place of the test in its file.
        test = re.sub(r"/[^/]*\.swift:\d+:\d+$", "", test)
        if "/" not in test and not test.endswith(")"):
            continue
        if payload["kind"] == "testStarted":
            running[test] = True
        elif payload["kind"] == "testEnded":
            running.pop(test, None)
        elif payload["kind"] == "issueRecorded" and not payload.get("issue", {}).get("isKnown"):
            failed.append(test)
    return list(dict.fromkeys(failed)) if kind == "failed" and failed else list(running)


def session_usage(session):
    """The processor time of the processes of a session, and whether one of their threads runs or waits for a processor."""
    ticks, is_ready = 0, False
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) != session:
                continue
            ticks += sum(int(field) for field in fields[11:15])
            if not is_ready:
                for thread in os.listdir(f"/proc/{entry}/task"):
                    with open(f"/proc/{entry}/task/{thread}/stat") as file:
                        if file.read().rpartition(")")[2].split()[0] in "RD":
                            is_ready = True
                            break
        except (OSError, IndexError, ValueError):
            continue
    return ticks / os.sysconf("SC_CLK_TCK"), is_ready


def end(process):
    """Ends a run and the programs that its tests started; those that end by themselves have ten seconds."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    timer = threading.Timer(10, end_session, [process.pid])
    timer.daemon = True
    timer.start()


def end_session(session):
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.getsid(int(entry)) == session:
                    os.kill(int(entry), signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
