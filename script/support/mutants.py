"""Plants faults in a copy of the sources, all in one build, and runs the tests that reach them.

Every fault asks `isMutant(number)` at run time; the number is in the environment variable WELKIN_MUTANT, read once. A first run of
each suite without a fault records which faults it reaches. The report says which suite noticed each fault first.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import mutant_reach
import mutant_sites
from mutant_judge import Judge
from mutant_runs import REACHED_BYTES, Runner

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ["--traits", "TLS", "--explicit-target-dependency-import-check", "error", "-debug-info-format", "none"]
REPORT = ROOT / "docs/mutation.md"
BEGIN, END = "<!-- begin of the table of script/mutants -->", "<!-- end of the table of script/mutants -->"

# The modules that faults are planted in.
MODULES = [
    "CloudKitServer", "CloudKitAccounts", "CloudKitRecordLayer", "CloudKitEncryption", "CloudKitWire", "CloudKitHTTP",
    "CloudKitClient", "CloudKit"]
# Random faults that are built beyond the number asked for, since some do not compile.
SPARE = 0.15
SWITCH = f'''\
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The number of the fault that is switched on; 0: none.
private let activeMutant: Int = getenv("WELKIN_MUTANT").flatMap {{ Int(String(cString: $0)) }} ?? 0

/// A byte for each fault, in a file that all processes of a run share: 1 if the fault is reached. A race between two threads
/// that write the same byte changes nothing.
nonisolated(unsafe) private let reachedMutants: UnsafeMutablePointer<UInt8>? = {{
    guard let path = getenv("WELKIN_MUTANTS_REACHED") else {{ return nil }}
    let descriptor = open(path, O_RDWR)
    guard descriptor >= 0 else {{ return nil }}
    defer {{ close(descriptor) }}
    let memory = mmap(nil, {REACHED_BYTES}, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    return memory == MAP_FAILED ? nil : memory?.assumingMemoryBound(to: UInt8.self)
}}()

func isMutant(_ number: Int) -> Bool {{
    if let reachedMutants {{ reachedMutants[number] = 1 }}
    return activeMutant == number
}}
'''


class Mutant:
    """A fault of the build."""

    def __init__(self, site, name=None, targets=None):
        self.site = site
        self.name = name
        # The tests that are likely to notice it: the target or the suites that run first.
        self.targets = targets or [site.path.split("/")[1] + "Tests"]
        self.number = 0
        self.outcome = None
        # The suites that reach it, and those of them that were not run.
        self.reaching = 0
        self.left = 0

    @property
    def key(self):
        return f"{self.site.key}\t{self.site.line}"


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
    for module in MODULES:
        write(folder / "Sources" / module / "MutantSwitch.swift", SWITCH)
    kept = set(names) | {f"Sources/{module}/MutantSwitch.swift" for module in MODULES}
    for place in ("Sources", "Tests", "Examples"):
        for path in (folder / place).rglob("*.swift"):
            if str(path.relative_to(folder)) not in kept and ".build" not in path.parts:
                path.unlink()


def without_known(folder, mutants):
    """The faults without those that did not compile in this folder before."""
    record = folder / "not-compiling.txt"
    known = set(record.read_text().split("\n")) if record.is_file() else set()
    return [mutant for mutant in mutants if mutant.site.key not in known]


def build(folder, prefix, mutants, names):
    """Builds the copy; faults that do not compile are dropped, also by later runs in the same folder."""
    record = folder / "not-compiling.txt"
    mutants = without_known(folder, mutants)
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
            if len(parts) == 5 and parts[3].startswith("unnoticed") and parts[4]:
                reasons[(parts[0].split(":")[0], parts[2])] = parts[4]
    return reasons


def outcome_of(mutant):
    """The cell that says how a fault was noticed, or how little it was tried."""
    if mutant.outcome == "unnoticed" and not mutant.reaching:
        return "unnoticed: no recorded suite reaches it"
    if mutant.outcome == "unnoticed" and mutant.left:
        return f"unnoticed by {mutant.reaching - mutant.left} of {mutant.reaching} suites"
    return mutant.outcome


def share(mutants):
    noticed = sum(mutant.outcome != "unnoticed" for mutant in mutants)
    return f"{noticed} of {len(mutants)} noticed ({100 * noticed / max(1, len(mutants)):.0f} %)"


def report(mutants, command, total):
    reasons = explanations()
    chosen, random_ones = [mutant for mutant in mutants if mutant.name], [mutant for mutant in mutants if not mutant.name]
    shares = [f"of {total} possible random faults {len(random_ones)} were tried, {share(random_ones)}"] * bool(random_ones)
    shares += [f"of the faults that a person chose, {share(chosen)}"] * bool(chosen)
    lines = [
        BEGIN, "", f"`{command}`: {'; '.join(shares)}.", "",
        "| place | kind | fault | noticed by | reason if unnoticed |", "|---|---|---|---|---|",
    ]
    for mutant in sorted(mutants, key=lambda mutant: (mutant.outcome != "unnoticed", mutant.site.path, mutant.site.line)):
        site = mutant.site
        place = f"{site.path.removeprefix('Sources/')}:{site.line + 1}"
        fault = cell(mutant.name or site.first)
        reason = reasons.get((place.split(":")[0], fault), "") if mutant.outcome == "unnoticed" else ""
        lines.append(f"| {place} | {site.kind} | {fault} | {outcome_of(mutant)} | {reason} |")
    lines += ["", END]
    text = REPORT.read_text() if REPORT.is_file() else f"{BEGIN}\n{END}\n"
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    REPORT.write_text(before + "\n".join(lines) + after)


def choose(options, names):
    """The faults to build, with spare ones, in the order of their places, and how many random ones are possible."""
    sites = options.sites if options.sites is not None else 0 if options.planted else 200
    mutants, total = [], 0
    if sites:
        built = sites + int(SPARE * sites) + 1
        mutants, total = drawn(names, set(options.modules.split(",")), built, options.seed)
    if options.planted:
        chosen = planted()
        taken = {(mutant.site.path, mutant.site.line) for mutant in chosen}
        mutants = chosen + [mutant for mutant in mutants if (mutant.site.path, mutant.site.line) not in taken]
    for place, mutant in enumerate(mutants):
        mutant.place = place
    mutants.sort(key=lambda mutant: (mutant.site.path, mutant.site.line))
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    if len(mutants) >= REACHED_BYTES:
        sys.exit(f"at most {REACHED_BYTES - 1} faults fit in a build")
    return mutants, sites, total


def tried(mutants, sites):
    """The faults to try, in the order they were drawn: those that a person chose, and the first of those that compile."""
    mutants = sorted(mutants, key=lambda mutant: mutant.place)
    chosen = [mutant for mutant in mutants if mutant.name]
    return chosen + [mutant for mutant in mutants if not mutant.name][:sites]


def is_wanted(target, options):
    if options.targets:
        return target in options.targets.split(",")
    return options.slow or target not in mutant_reach.SLOW_TARGETS


def arguments():
    parser = argparse.ArgumentParser(prog="script/mutants", description=__doc__)
    parser.add_argument("--sites", type=int, help="number of random faults (default 200, with --planted 0)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the faults (default 1)")
    parser.add_argument("--modules", default=",".join(MODULES), help="modules, separated by commas")
    parser.add_argument("--planted", action="store_true", help="the faults of planted_faults.txt too")
    parser.add_argument("--folder", help="a folder for the copy and its build, kept for the next run")
    parser.add_argument("--prefix", default="", help="a command before builds and tests, such as 'nice'")
    parser.add_argument("--list", action="store_true", help="only lists the faults")
    parser.add_argument("--build-only", action="store_true", help="builds the copy and runs nothing")
    parser.add_argument("--skip-build", action="store_true", help="takes the copy as an earlier run built it")
    parser.add_argument("--resume", action="store_true", help="goes on with what an earlier run in the folder did not try")
    parser.add_argument("--workers", type=int, default=2, help="runs at once (default 2)")
    parser.add_argument("--width", type=int, default=8, help="tests at once in each run (default 8)")
    parser.add_argument("--slow", action="store_true", help="with the targets that take long: " + ", ".join(
        sorted(mutant_reach.SLOW_TARGETS)))
    parser.add_argument("--targets", help="only suites of these test targets, separated by commas; --resume without this "
                        "option goes on with the others")
    parser.add_argument("--seconds", type=float, help="the suites that a fault is tried with take at most this time "
                        "without it; --resume without this option goes on with the others")
    parser.add_argument("--minutes", type=float, help="tries no further fault after this time; those tried are a random part")
    parser.add_argument("--only", help="the numbers of the faults to try, separated by commas; all are built")
    parser.add_argument("--report", action="store_true", help="writes the table of docs/mutation.md")
    return parser.parse_args()


def main():
    options = arguments()
    names = tracked()
    mutants, sites, total = choose(options, names)
    if options.list:
        for mutant in tried(mutants, sites):
            print(f"{mutant.site.path}:{mutant.site.line + 1} [{mutant.site.kind}] {mutant.name or mutant.site.first}")
        print(f"{len(tried(mutants, sites))} of {total}")
        return
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="welkin-mutants-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"The copy is {folder}", flush=True)
    prefix = shlex.split(options.prefix)
    # Numbers are those of all faults that were chosen, so the records of runs belong to this choice.
    choice = hashlib.sha256("\n".join(mutant.key for mutant in mutants).encode()).hexdigest()[:12]
    mutants = without_known(folder, mutants) if options.skip_build else build(folder, prefix, mutants, names)
    if options.build_only:
        return
    mutants = tried(mutants, sites)
    if options.only:
        wanted = {int(number) for number in options.only.split(",")}
        mutants = [mutant for mutant in mutants if mutant.number in wanted]
    runner = Runner(folder, prefix, options.width)
    suites = [suite for suite in runner.list_suites() if is_wanted(suite.name.split(".")[0], options)]
    until = time.monotonic() + 60 * options.minutes if options.minutes else None
    suites = mutant_reach.record(runner, suites, folder / f"reached-{choice}.jsonl", options.workers)
    log = folder / f"mutants-{choice}.jsonl"
    if not options.resume:
        log.unlink(missing_ok=True)
    judge = Judge(runner, suites, log, options.workers, options.seconds, until)
    judge.resume()
    judge.judge(mutants)
    mutants = [mutant for mutant in mutants if mutant.outcome]
    print(share(mutants))
    if options.report:
        shown = ["script/mutants"] + ["--planted"] * options.planted
        if sites:
            shown += ["--sites", str(sites), "--seed", str(options.seed)]
        report(mutants, " ".join(shown), total)


main()
