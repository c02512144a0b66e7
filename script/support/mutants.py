"""Plants faults in a copy of the sources, all in one build, and runs the tests against each.

Every fault asks `isMutant(number)` at run time; the number is in the environment variable WELKIN_MUTANT, read once. The report says
which target noticed each fault first.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutant_sites

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ["--traits", "TLS", "--explicit-target-dependency-import-check", "error", "-debug-info-format", "none"]
BUNDLE = ".build/debug/welkinPackageTests.xctest"
REPORT = ROOT / "docs/mutation.md"
BEGIN, END = "<!-- begin of the table of script/mutants -->", "<!-- end of the table of script/mutants -->"

# The targets whose tests notice a fault of a module, the likeliest and quickest first.
TARGETS = {
    "CloudKitServer": ["CloudKitServerTests", "CloudKitHTTPTests", "ConformanceTests", "SimulationTests"],
    "CloudKitAccounts": ["CloudKitAccountsTests", "CloudKitServerTests", "CloudKitHTTPTests", "ConformanceTests"],
    "CloudKitRecordLayer": ["CloudKitRecordLayerTests", "CloudKitServerTests", "ConformanceTests", "SimulationTests"],
    "CloudKitEncryption": [
        "CloudKitEncryptionTests", "CloudKitClientTests", "CloudKitTests", "HostileCloudTests", "ConformanceTests",
        "SimulationTests"],
    "CloudKitWire": ["CloudKitWireTests", "CloudKitHTTPTests", "CloudKitTests", "ConformanceTests"],
    "CloudKitHTTP": ["CloudKitHTTPTests", "ConformanceTests", "WelkinTests"],
    "CloudKitClient": [
        "CloudKitClientTests", "CloudKitTests", "HostileCloudTests", "ConformanceTests", "CloudKitTestingTests",
        "SimulationTests"],
    "CloudKit": ["CloudKitTests", "ConformanceTests", "CloudKitTestingTests"],
}
# The line of a run that reports a failure.
FAILURE = re.compile(r"\W* (Test|Suite) .* recorded an issue")
SWITCH = '''\
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The number of the fault that is switched on; 0: none.
private let activeMutant: Int = getenv("WELKIN_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

func isMutant(_ number: Int) -> Bool { activeMutant == number }
'''


class Mutant:
    """A fault of the build."""

    def __init__(self, site, name=None, targets=None):
        self.site = site
        self.name = name
        self.module = site.path.split("/")[1]
        self.targets = targets or TARGETS[self.module]
        self.number = 0
        self.outcome = None
        self.seconds = 0.0


# MARK: Choosing


def tracked():
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if found.returncode == 0:
        return [name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()]
    # A copy of the sources without git.
    paths = [path for place in ("Sources", "Tests", "Examples") for path in (ROOT / place).rglob("*")]
    paths += [*ROOT.glob("Package.*"), *(ROOT / "docs").glob("**/*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.is_file() and ".build" not in path.parts)


def planted():
    """The faults of planted_faults.txt."""
    fields, mutants = None, []

    def finish():
        if fields is None:
            return
        path, before, after = fields["file"], fields["-"], fields["+"]
        lines = (ROOT / path).read_text().split("\n")
        found = [index for index, line in enumerate(lines) if line.strip() == before]
        if not found:
            sys.exit(f"{path} has no line: {before}")
        index = found[0]
        indent = re.match(r"\s*", lines[index]).group(0)
        site = mutant_sites.Site(
            path, index, "planted", lines[index], indent + after.replace("MUTANT", mutant_sites.SWITCH),
            after)
        # The same line may stand in a file several times: the first that is free is meant.
        taken = {mutant.site.line for mutant in mutants if mutant.site.path == path}
        site.line = next((index for index in found if index not in taken), found[0])
        mutants.append(Mutant(site, fields["="], fields["tests"].split()))

    for line in (ROOT / "script/support/planted_faults.txt").read_text().split("\n"):
        if line.startswith("#") or not line.strip():
            continue
        word, rest = line.split(" ", 1)
        if word == "=":
            finish()
            fields = {}
        fields[word] = rest.strip()
    finish()
    return mutants


def drawn(names, modules, count, seed):
    """Random faults of modules: the same for the same sources and seed, at most one of a line."""
    found = []
    for name in sorted(names):
        parts = name.split("/")
        if parts[0] != "Sources" or parts[1] not in modules or not name.endswith(".swift"):
            continue
        text = (ROOT / name).read_text()
        if "@inlinable" in text:
            continue
        found += list(mutant_sites.sites(name, text))
    chance = random.Random(seed)
    chance.shuffle(found)
    chosen, places = [], set()
    for site in found:
        if (site.path, site.line) in places:
            continue
        places.add((site.path, site.line))
        chosen.append(Mutant(site))
        if len(chosen) == count:
            break
    return chosen, len(found)


# MARK: Building


def write(path, text):
    """Writes a file unless it has this content, so that nothing is compiled again without need."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def copy(names, mutants, folder):
    """Copies the package with its faults."""
    places = collections.defaultdict(dict)
    for mutant in mutants:
        places[mutant.site.path].setdefault(mutant.site.line, []).append(mutant)
    for name in names:
        target = folder / name
        if name in places:
            lines = (ROOT / name).read_text().split("\n")
            for line, group in places[name].items():
                lines[line] = group[0].site.after.replace("№", str(group[0].number))
            write(target, "\n".join(lines))
        elif not target.is_file() or (ROOT / name).read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    for module in TARGETS:
        write(folder / "Sources" / module / "MutantSwitch.swift", SWITCH)
    kept = set(names) | {f"Sources/{module}/MutantSwitch.swift" for module in TARGETS}
    for place in ("Sources", "Tests", "Examples"):
        for path in (folder / place).rglob("*.swift"):
            if str(path.relative_to(folder)) not in kept and ".build" not in path.parts:
                path.unlink()


def build(folder, prefix, mutants, names):
    """Builds the copy; faults that do not compile are dropped, also by later runs in the same folder."""
    record = folder / "not-compiling.txt"
    known = set(record.read_text().split("\n")) if record.is_file() else set()
    mutants = [mutant for mutant in mutants if mutant.site.key not in known]
    while True:
        copy(names, mutants, folder)
        print(f"Build with {len(mutants)} faults", flush=True)
        run = subprocess.run(
            [*prefix, "swift", "build", "--build-tests", *BUILD], cwd=folder, capture_output=True, text=True)
        if run.returncode == 0:
            return mutants
        output = run.stdout + run.stderr
        wrong = set(re.findall(r"(Sources/[\w+/.-]+\.swift):(\d+):\d+: error:", output))
        dropped = set()
        for path, line in wrong:
            own = [mutant for mutant in mutants if mutant.site.path == path]
            # An early return stands on two lines, and an error may be reported below its cause.
            near = sorted(own, key=lambda mutant: abs(mutant.site.line + 1 - int(line)))
            if near:
                dropped.add(near[0])
        if not dropped:
            (folder / "build.log").write_text(output)
            print(output[-4000:])
            print(f"The whole output is in {folder / 'build.log'}")
            sys.exit("the copy does not compile")
        for mutant in sorted(dropped, key=lambda mutant: mutant.number):
            print(f"  does not compile: {mutant.site.path}:{mutant.site.line + 1} {mutant.site.first}", flush=True)
        mutants = [mutant for mutant in mutants if mutant not in dropped]
        with open(record, "a") as keys:
            keys.writelines(mutant.site.key + "\n" for mutant in dropped)


# MARK: Running


def filter_of(target):
    """The filter of a target, or of one suite of it."""
    return f"^{re.escape(target)}[./]"


def run(folder, prefix, target, number, seconds):
    """Runs the tests of a target with a fault: `passed`, `failed`, `crashed` or `hung`."""
    environment = dict(os.environ, WELKIN_MUTANT=str(number), SIMULATION_SEEDS=os.environ.get("SIMULATION_SEEDS", "40"))
    environment.setdefault("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", str(8 * (os.cpu_count() or 1)))
    process = subprocess.Popen(
        [*prefix, BUNDLE, "--testing-library", "swift-testing", "--parallel", "--filter", filter_of(target)],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        text=True, errors="replace")
    timer = threading.Timer(seconds, end, [process])
    timer.start()
    failed = False
    for line in process.stdout:
        if FAILURE.match(line):
            # One failure is enough: the rest of the tests need not run.
            failed = True
            end(process)
            break
    process.stdout.close()
    code = process.wait()
    hung = not timer.is_alive() and code == -signal.SIGKILL
    timer.cancel()
    if code == 69:
        sys.exit(f"{target} has no tests")
    return "failed" if failed else "hung" if hung else "passed" if code == 0 else "failed" if code == 1 else "crashed"


def end(process):
    """Ends a run and the programs that its tests started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def judge(mutants, folder, prefix, limit, log, until=None):
    """Runs the targets of each fault until one notices it; returns the faults that were tried before the time was up."""
    usual = {}

    def usual_seconds(target):
        """The time of a target without a fault, tried when it is first needed."""
        if target not in usual:
            start = time.monotonic()
            outcome = run(folder, prefix, target, 0, 10 * limit)
            usual[target] = time.monotonic() - start
            print(f"{target} without a fault: {outcome}, {usual[target]:.0f} s", flush=True)
            if outcome != "passed":
                sys.exit(f"{target} does not pass without a fault")
        return usual[target]

    tried = []
    for mutant in mutants:
        start = time.monotonic()
        if until is not None and start > until:
            break
        tried.append(mutant)
        mutant.outcome = "unnoticed"
        for target in mutant.targets:
            outcome = run(folder, prefix, target, mutant.number, max(limit, 4 * usual_seconds(target)))
            if outcome != "passed":
                mutant.outcome = f"{outcome}: {target}"
                break
        mutant.seconds = time.monotonic() - start
        print(f"{mutant.number}: {mutant.outcome}, {mutant.seconds:.0f} s: {mutant.site.path}:{mutant.site.line + 1} "
              f"{mutant.name or mutant.site.first}", flush=True)
        log.write(json.dumps({"number": mutant.number, "outcome": mutant.outcome, "path": mutant.site.path,
                              "line": mutant.site.line + 1, "fault": mutant.site.first}) + "\n")
        log.flush()
    return tried


# MARK: Reporting


def cell(text):
    text = text if len(text) <= 110 else text[:107] + "…"
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"


def explanations():
    """The reasons that people wrote beside unnoticed faults, by the fault."""
    reasons = {}
    if REPORT.is_file():
        for line in REPORT.read_text().split("\n"):
            parts = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(parts) == 5 and parts[3] == "unnoticed" and parts[4]:
                reasons[(parts[0].split(":")[0], parts[2])] = parts[4]
    return reasons


def report(mutants, command, total):
    reasons = explanations()
    noticed = [mutant for mutant in mutants if mutant.outcome != "unnoticed"]
    lines = [
        BEGIN, "",
        f"`{command}`: {len(mutants)} faults of {total} possible ones, {len(noticed)} noticed "
        f"({100 * len(noticed) / max(1, len(mutants)):.0f} %).", "",
        "| place | kind | fault | noticed by | reason if unnoticed |", "|---|---|---|---|---|",
    ]
    for mutant in sorted(mutants, key=lambda mutant: (mutant.outcome != "unnoticed", mutant.site.path, mutant.site.line)):
        site = mutant.site
        place = f"{site.path.removeprefix('Sources/')}:{site.line + 1}"
        fault = cell(mutant.name or site.first)
        reason = reasons.get((place.split(":")[0], fault), "") if mutant.outcome == "unnoticed" else ""
        lines.append(f"| {place} | {site.kind} | {fault} | {mutant.outcome} | {reason} |")
    lines += ["", END]
    text = REPORT.read_text() if REPORT.is_file() else f"{BEGIN}\n{END}\n"
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    REPORT.write_text(before + "\n".join(lines) + after)


def main():
    parser = argparse.ArgumentParser(prog="script/mutants", description=__doc__)
    parser.add_argument("--sites", type=int, help="number of random faults (default 200, with --planted 0)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the faults (default 1)")
    parser.add_argument("--modules", default=",".join(TARGETS), help="modules, separated by commas")
    parser.add_argument("--planted", action="store_true", help="the faults of planted_faults.txt too")
    parser.add_argument("--folder", help="a folder for the copy and its build, kept for the next run")
    parser.add_argument("--timeout", type=float, default=120, help="the least number of seconds that a target gets (default 120)")
    parser.add_argument("--prefix", default="", help="a command before builds and tests, such as 'nice'")
    parser.add_argument("--list", action="store_true", help="only lists the faults")
    parser.add_argument("--minutes", type=float, help="tries no further fault after this time; those tried are a random part")
    parser.add_argument("--only", help="the numbers of the faults to try, separated by commas; all are built")
    parser.add_argument("--report", action="store_true", help="writes the table of docs/mutation.md")
    options = parser.parse_args()
    names = tracked()
    sites = options.sites if options.sites is not None else 0 if options.planted else 200
    mutants, total = drawn(names, set(options.modules.split(",")), sites, options.seed) if sites else ([], 0)
    if options.planted:
        chosen = planted()
        taken = {(mutant.site.path, mutant.site.line) for mutant in chosen}
        mutants = chosen + [mutant for mutant in mutants if (mutant.site.path, mutant.site.line) not in taken]
        total += len(chosen)
    mutants.sort(key=lambda mutant: (mutant.site.path, mutant.site.line))
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    if options.list:
        for mutant in mutants:
            print(f"{mutant.site.path}:{mutant.site.line + 1} [{mutant.site.kind}] {mutant.name or mutant.site.first}")
        print(f"{len(mutants)} of {total}")
        return
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="welkin-mutants-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"The copy is {folder}", flush=True)
    prefix = options.prefix.split()
    mutants = build(folder, prefix, mutants, names)
    if options.only:
        wanted = {int(number) for number in options.only.split(",")}
        mutants = [mutant for mutant in mutants if mutant.number in wanted]
    # Those that a person chose take seconds; the order of the others is random, so that the first of them are a sample.
    random.Random(options.seed).shuffle(mutants)
    mutants.sort(key=lambda mutant: mutant.name is None)
    until = time.monotonic() + 60 * options.minutes if options.minutes else None
    with open(folder / "mutants.jsonl", "w") as log:
        mutants = judge(mutants, folder, prefix, options.timeout, log, until)
    noticed = sum(mutant.outcome != "unnoticed" for mutant in mutants)
    print(f"{noticed} of {len(mutants)} noticed ({100 * noticed / max(1, len(mutants)):.0f} %)")
    if options.report:
        shown = ["script/mutants"] + ["--planted"] * options.planted
        if sites:
            shown += ["--sites", str(sites), "--seed", str(options.seed)]
        report(mutants, " ".join(shown), total)


main()
