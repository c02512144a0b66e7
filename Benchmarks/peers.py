"""The same work against Welkin and its peers: rate, and processor time of everything that serves it, for each unit."""

import argparse
import base64
import glob
import json
import os
import random
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

CONTAINER = "iCloud.org.welkin.peers"
TICKS = os.sysconf("SC_CLK_TCK")
PAYLOAD = base64.b64encode(random.Random(1024).randbytes(984)).decode()
PAGE = 200
BATCH = 100


def content(number):
    """A record of 1 KiB: a text, a number, a date, bytes."""
    return {"title": f"benchmark record {number % 10}000000", "count": 4242424242, "date": 1700000000123, "payload": PAYLOAD}


# Processor time


def stat(pid):
    """Parent, own processor time and that of children that have ended, in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    times = [int(field) / TICKS for field in fields[11:15]]
    return int(fields[1]), times[0] + times[1], times[2] + times[3]


def processor_seconds(roots):
    """The processor time of processes and all below them, also of those that have ended."""
    processes = {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            processes[int(path[6:])] = stat(path[6:])
        except (FileNotFoundError, ProcessLookupError):
            pass
    members, grown = set(roots), True
    while grown:
        below = {pid for pid, (parent, _, _) in processes.items() if parent in members}
        grown = not below <= members
        members |= below
    return sum(processes[pid][1] + processes[pid][2] for pid in members if pid in processes)


# HTTP


class Failed(Exception):
    pass


class Connection:
    """One connection that is kept; one request at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()

    def send(self, request):
        self.received.clear()
        self.socket.sendall(request)

    def receive(self):
        """Reads on; returns status, head and body of a complete answer, else None."""
        chunk = self.socket.recv(1 << 20)
        if not chunk:
            raise Failed("a connection was closed")
        self.received += chunk
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self.received[:end]).decode("latin-1")
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                if len(self.received) < end + 4 + int(value):
                    return None
                return int(head[9:12]), head, bytes(self.received[end + 4 :])
        if head[9:12] == "304":
            return 304, head, b""
        raise Failed("an answer without a length")

    def ask(self, request):
        self.send(request)
        while True:
            answer = self.receive()
            if answer:
                return checked(answer)


def checked(answer):
    status, head, body = answer
    if status not in (200, 201, 304) or b"serverErrorCode" in body[:4000]:
        raise Failed(f"{head.splitlines()[0]}: {body[:300]!r}")
    return head, body


def http(method, path, body=None, headers=()):
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if data or method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


def is_refused_for_now(answer):
    """Kinto refuses a write whose millisecond another one has, and asks to repeat it; also within a batch."""
    status, _, body = answer
    return status in (409, 503) or status == 200 and body.startswith(b'{"responses":') and (
        b'"status":409' in body or b'"status":503' in body)


def load(port, connections, requests, seconds):
    """Keeps connections busy; returns requests and seconds. `requests` yields what is sent next.

    A request that is refused for now is sent again and counted once.
    """
    open_, sent = {}, {}

    def send(descriptor):
        sent[descriptor] = next(requests)
        open_[descriptor].send(sent[descriptor])

    poll = select.epoll()
    for _ in range(connections):
        connection = Connection(port)
        open_[connection.socket.fileno()] = connection
        poll.register(connection.socket.fileno(), select.EPOLLIN)
    start = time.monotonic()
    end = start + seconds
    waiting = count = 0
    for descriptor in open_:
        send(descriptor)
        waiting += 1
    while waiting:
        for descriptor, _ in poll.poll(60):
            try:
                answer = open_[descriptor].receive()
            except Failed:
                # Kinto's servers close some under load; its requests, all PUT and GET, may be repeated.
                poll.unregister(descriptor)
                request = sent.pop(descriptor)
                open_.pop(descriptor).socket.close()
                connection = Connection(port)
                descriptor = connection.socket.fileno()
                open_[descriptor], sent[descriptor] = connection, request
                poll.register(descriptor, select.EPOLLIN)
                connection.send(request)
                continue
            if not answer:
                continue
            if is_refused_for_now(answer):
                open_[descriptor].send(sent[descriptor])
                continue
            checked(answer)
            count += 1
            waiting -= 1
            if time.monotonic() < end:
                send(descriptor)
                waiting += 1
    return count, time.monotonic() - start


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, path):
    for _ in range(600):
        if process.poll() is not None:
            raise Failed(f"a server ended: {process.args[0]}")
        try:
            Connection(port).ask(http("GET", path))
            return
        except (OSError, Failed):
            time.sleep(0.1)
    raise Failed(f"a server does not answer: {process.args[0]}")


def header(head, name):
    for line in head.split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return None


# Servers that speak HTTP


class Welkin:
    name = "Welkin"

    def __init__(self, folder, welkin):
        self.port = free_port()
        variables = dict(
            os.environ, XDG_DATA_HOME=f"{folder}/share", XDG_CONFIG_HOME=f"{folder}/config", HOME=folder, WELKIN_CONFIG="",
            CLOUDKIT_ENDPOINT=f"http://127.0.0.1:{self.port}")
        data = f"{folder}/data"
        self.process = subprocess.Popen(
            [welkin, "serve", "--data", data, "--port", str(self.port), "--log-level", "warning"], env=variables,
            stdout=subprocess.DEVNULL)
        self.roots = [self.process.pid]
        wait_for(self.port, self.process, "/health")

        def run(*arguments):
            subprocess.run([welkin, *arguments, "--data", data], env=variables, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)

        run("quickstart", "--endpoint", f"http://127.0.0.1:{self.port}", "--container", CONTAINER, "--profile", "peer",
            "--rounds", "1000")
        with open(f"{folder}/share/welkin/profiles/peer/credentials.json") as file:
            entry = next(e for e in json.load(file)["containers"] if e["container"] == CONTAINER)
        quoted = {key: urllib.parse.quote(entry[key], safe="") for key in ("apiToken", "webAuthToken")}
        self.query = f"?ckAPIToken={quoted['apiToken']}&ckWebAuthToken={quoted['webAuthToken']}"
        self.ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}
                                                 for zone in ("Work", "Pull")]})
        Connection(self.port).ask(self.create(10**9))
        # Kinto indexes no fields either.
        for field in ("title", "count", "date"):
            run("schema", "index", CONTAINER, "Bench", field)

    def request(self, endpoint, body):
        return http("POST", f"/database/1/{CONTAINER}/development/private/{endpoint}{self.query}", body)

    def ask(self, endpoint, body):
        return json.loads(Connection(self.port).ask(self.request(endpoint, body))[1])

    def operation(self, number):
        types = {"title": "STRING", "count": "INT64", "date": "TIMESTAMP", "payload": "BYTES"}
        fields = {key: {"value": value, "type": types[key]} for key, value in content(number).items()}
        return {"operationType": "create", "record": {"recordName": f"r{number}", "recordType": "Bench", "fields": fields}}

    def batch(self, numbers, zone="Work"):
        return self.request("records/modify", {
            "zoneID": {"zoneName": zone}, "atomic": True, "operations": [self.operation(n) for n in numbers]})

    def create(self, number):
        return self.batch([number])

    def fetch(self, number):
        return self.request("records/lookup", {"zoneID": {"zoneName": "Work"}, "records": [{"recordName": f"r{number}"}]})

    def changes(self, zone, token, limit=PAGE):
        entry = {"zoneID": {"zoneName": zone}}
        if limit:
            entry["resultsLimit"] = limit
        if token:
            entry["syncToken"] = token
        return self.request("changes/zone", {"zones": [entry]})

    def page(self, zone, token, connection, limit=PAGE):
        """Returns the records of a page, the token after it, and whether more wait; nothing of the records is decoded."""
        body = connection.ask(self.changes(zone, token, limit))[1]
        tail = body[body.rfind(b"]") :]
        after = tail.split(b'"syncToken":"')[1].split(b'"')[0].decode() if b'"syncToken"' in tail else None
        if after is None:
            after = json.loads(body)["zones"][0]["syncToken"]
        return body.count(b'"recordName":"r'), after, b'"moreComing":true' in body

    def fill(self, count):
        connection = Connection(self.port)
        for n in range(0, count, PAGE):
            connection.ask(self.batch(range(n, min(n + PAGE, count)), "Pull"))

    def pull(self, connection):
        records, token, more = 0, None, True
        while more:
            count, token, more = self.page("Pull", token, connection, limit=None)
            records += count
        return records, token

    def change_pages(self, seconds, connection):
        """Pages of the changes of the large zone, from the beginning again and again."""
        records, token, start = 0, None, time.monotonic()
        while time.monotonic() - start < seconds:
            count, token, more = self.page("Pull", token, connection)
            records += count
            if not more:
                token = None
        return records, time.monotonic() - start

    def empty_poll(self, position):
        return self.changes("Pull", position)


class Kinto:
    name = "Kinto"
    collection = "/v1/buckets/peers/collections"

    def __init__(self, folder, programs, postgres):
        self.port = free_port()
        self.postgres = postgres
        database = f"postgresql://{postgres.user}@127.0.0.1:{postgres.port}/kinto"
        postgres.sql("CREATE DATABASE kinto ENCODING 'UTF8' TEMPLATE template0")
        with open(f"{folder}/kinto.ini", "w") as file:
            file.write(f"""
[app:main]
use = egg:kinto
kinto.userid_hmac_secret = peers
multiauth.policies = basicauth
kinto.bucket_create_principals = system.Authenticated
kinto.storage_backend = kinto.core.storage.postgresql
kinto.storage_url = {database}
kinto.cache_backend = kinto.core.cache.postgresql
kinto.cache_url = {database}
kinto.permission_backend = kinto.core.permission.postgresql
kinto.permission_url = {database}
kinto.batch_max_requests = {PAGE}
kinto.storage_pool_size = 20
[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys = plain
[logger_root]
level = ERROR
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
level = ERROR
formatter = plain
[formatter_plain]
format = %(message)s
""")
        subprocess.run([f"{programs}/kinto", "migrate", "--ini", f"{folder}/kinto.ini"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [f"{programs}/gunicorn", "--paste", f"{folder}/kinto.ini", "--bind", f"127.0.0.1:{self.port}", "--workers", "2",
             "--threads", "16", "--worker-class", "gthread", "--keep-alive", "60", "--timeout", "300", "--log-level",
             "critical"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.roots = [self.process.pid, postgres.process.pid]
        self.headers = ["Authorization: Basic " + base64.b64encode(b"peer:secret").decode()]
        wait_for(self.port, self.process, "/v1/")
        connection = Connection(self.port)
        connection.ask(self.request("PUT", "/v1/buckets/peers", {}))
        for zone in ("work", "pull"):
            connection.ask(self.request("PUT", f"{self.collection}/{zone}", {}))

    def request(self, method, path, body=None):
        return http(method, path, body, self.headers)

    def create(self, number):
        return self.request("PUT", f"{self.collection}/work/records/r{number}", {"data": content(number)})

    def batch(self, numbers, zone="work"):
        requests = [{"method": "PUT", "path": f"{self.collection}/{zone}/records/r{n}", "body": {"data": content(n)}}
                    for n in numbers]
        return self.request("POST", "/v1/batch", {"requests": requests})

    def fetch(self, number):
        return self.request("GET", f"{self.collection}/work/records/r{number}")

    def fill(self, count):
        """Fills the storage's table, as requests would take half an hour. Each record has a millisecond of its own."""
        body = json.dumps(content(1))
        self.postgres.sql(
            "INSERT INTO objects (id, parent_id, resource_name, last_modified, data, deleted) SELECT 'r' || n, "
            f"'/buckets/peers/collections/pull', 'record', from_epoch({int(time.time() * 1000)} + n), '{body}'::jsonb, FALSE "
            f"FROM generate_series(1, {count}) n", "kinto")

    def page(self, path, connection):
        """Returns the records of a page, the address of the next one, and the position."""
        head, body = connection.ask(self.request("GET", path))
        following = header(head, "next-page")
        following = following and following[following.index("/v1/") :]
        return body.count(b'"last_modified":'), following, header(head, "etag")

    def pull(self, connection):
        """Pages of 10,000, the most that the storage gives."""
        records, path, etag = 0, f"{self.collection}/pull/records?_sort=last_modified&_limit=10000", None
        while path:
            count, path, etag = self.page(path, connection)
            records += count
        return records, etag

    def change_pages(self, seconds, connection):
        first = f"{self.collection}/pull/records?_since=%221%22&_sort=last_modified&_limit={PAGE}"
        records, path, start = 0, first, time.monotonic()
        while time.monotonic() - start < seconds:
            count, path, _ = self.page(path or first, connection)
            records += count
        return records, time.monotonic() - start

    def empty_poll(self, position):
        return self.request("GET", f"{self.collection}/pull/records?_since={urllib.parse.quote(position)}")


def work_over_http(server, records, seconds):
    """Runs all lines; returns units, seconds and processor time of each."""
    results = {}
    numbers = iter(range(1, 10**9))
    print(f"{server.name} …", file=sys.stderr)

    def line(name, connections, request, units=1):
        before = processor_seconds(server.roots)
        print(f"  {name}", file=sys.stderr)
        count, time_ = load(server.port, connections, iter(request, None), seconds)
        results[name] = (count * units, time_, processor_seconds(server.roots) - before)

    line("creates, 1 connection", 1, lambda: server.create(next(numbers)))
    line("creates, 16 connections", 16, lambda: server.create(next(numbers)))
    line(f"batches of {BATCH}, 4 connections", 4, lambda: server.batch([next(numbers) for _ in range(BATCH)]), BATCH)
    # Those of the first line are there for certain.
    there = int(results["creates, 1 connection"][0])
    chance = random.Random(1)
    fetches = [server.fetch(chance.randint(1, there)) for _ in range(1000)]
    line("fetches of a record, 16 connections", 16, lambda: chance.choice(fetches))
    server.fill(records)
    connection = Connection(server.port)
    before = processor_seconds(server.roots)
    count, time_ = server.change_pages(seconds, connection)
    results[f"records of change pages of {PAGE}"] = (count, time_, processor_seconds(server.roots) - before)
    before, start = processor_seconds(server.roots), time.monotonic()
    count, position = server.pull(connection)
    if count != records:
        raise Failed(f"{server.name}: the pull has {count} records instead of {records}")
    results[f"records of a full pull of {records}"] = (
        count, time.monotonic() - start, processor_seconds(server.roots) - before)
    poll = server.empty_poll(position)
    line("empty polls, 16 connections", 16, lambda: poll)
    return results


# Engines alone


class Postgres:
    name = "PostgreSQL"

    def __init__(self, folder):
        self.folder = folder
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        # PostgreSQL refuses to run as root.
        self.user = "welkin"
        self.way = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.getuid() == 0 else []
        data = f"{folder}/postgres"
        os.makedirs(data)
        if self.way:
            shutil.chown(data, "nobody", "nogroup")
        self.run("initdb", "-D", data, "-U", self.user, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        self.port = free_port()
        # Only the loopback interface; the defaults are those of Debian, apart from the number of connections.
        self.process = subprocess.Popen(
            [*self.way, f"{self.programs}/postgres", "-D", data, "-p", str(self.port), "-h", "127.0.0.1", "-k", data, "-c",
             "max_connections=100", "-c", "log_min_messages=fatal"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if subprocess.run([f"{self.programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0:
                return
            time.sleep(0.1)
        raise Failed("PostgreSQL does not answer")

    def run(self, program, *arguments):
        subprocess.run([*self.way, f"{self.programs}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL,
                       cwd="/")

    def sql(self, statement, database="postgres"):
        subprocess.run(
            [f"{self.programs}/psql", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-v", "ON_ERROR_STOP=1",
             "-d", database, "-c", statement], check=True, stdout=subprocess.DEVNULL)

    def work(self, records, seconds):
        self.sql("CREATE TABLE record (zone int, name text, version bigint, body jsonb, PRIMARY KEY (zone, name))")
        self.sql("CREATE SEQUENCE version")
        self.sql("CREATE UNIQUE INDEX feed ON record (zone, version)")
        body = json.dumps(content(1))
        insert = "INSERT INTO record SELECT {}, 'r' || v, v, '{}' FROM (SELECT nextval('version') v{}) n;\n"
        several = ", generate_series(1, {})"
        self.sql(insert.format(2, body, several.format(records)))
        results = {}

        def line(name, connections, script, units=1):
            path = f"{self.folder}/line.sql"
            with open(path, "w") as file:
                file.write(script)
            os.chmod(path, 0o644)
            before = processor_seconds([self.process.pid])
            output = subprocess.run(
                [f"{self.programs}/pgbench", "-n", "-M", "prepared", "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user,
                 "-c", str(connections), "-T", str(max(1, int(seconds))), "-f", path, "postgres"], check=True,
                capture_output=True, text=True).stdout
            count = int(output.split("actually processed:")[1].split()[0].split("/")[0])
            rate = float(output.split("tps =")[1].split()[0])
            results[name] = (count * units, count / rate, processor_seconds([self.process.pid]) - before)

        line("creates, 1 connection", 1, insert.format(1, body, ""))
        line("creates, 16 connections", 16, insert.format(1, body, ""))
        line(f"batches of {BATCH}, 4 connections", 4, insert.format(1, body, several.format(BATCH)), BATCH)
        line("fetches of a record, 16 connections", 16,
             f"\\set n random(1, {records})\nSELECT * FROM record WHERE zone = 2 AND name = 'r' || :n;\n")
        line(f"records of change pages of {PAGE}", 1,
             f"\\set n random(0, {max(1, records - PAGE)})\n"
             f"SELECT * FROM record WHERE zone = 2 AND version > :n ORDER BY version LIMIT {PAGE};\n", PAGE)
        before, start = processor_seconds([self.process.pid]), time.monotonic()
        self.sql("SELECT * FROM record WHERE zone = 2 ORDER BY version")
        results[f"records of a full pull of {records}"] = (
            records, time.monotonic() - start, processor_seconds([self.process.pid]) - before)
        line("empty polls, 16 connections", 16, "SELECT * FROM record WHERE zone = 2 AND version > 1000000000 LIMIT 200;\n")
        return results


def work_of_sqlite(folder, records, seconds):
    """Through Python's module, in this process, whose time counts: WAL, `synchronous = FULL`, one connection."""
    database = sqlite3.connect(f"{folder}/raw.sqlite", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                      "CREATE TABLE record (version INTEGER PRIMARY KEY, name TEXT UNIQUE, body BLOB NOT NULL)"):
        database.execute(statement)
    body = json.dumps(content(1)).encode()
    results, numbers = {}, iter(range(10**9, 2 * 10**9))

    def insert(count):
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO record VALUES (?, ?, ?)", ((n, f"r{n}", body) for n in
                             [next(numbers) for _ in range(count)]))
        database.execute("COMMIT")
        return count

    def line(name, work):
        before, start, units = time.process_time(), time.monotonic(), 0
        while time.monotonic() - start < seconds:
            units += work()
        results[name] = (units, time.monotonic() - start, time.process_time() - before)

    def select_(statement, *values):
        return len(database.execute(statement, values).fetchall())

    database.execute("BEGIN")
    database.executemany("INSERT INTO record VALUES (?, ?, ?)", ((n, f"r{n}", body) for n in range(records)))
    database.execute("COMMIT")
    chance = random.Random(1)
    line("creates, 1 connection", lambda: insert(1))
    line(f"batches of {BATCH}, 4 connections", lambda: insert(BATCH))
    line("fetches of a record, 16 connections",
         lambda: select_("SELECT * FROM record WHERE name = ?", f"r{chance.randrange(records)}"))
    line(f"records of change pages of {PAGE}", lambda: select_(
        f"SELECT * FROM record WHERE version > ? ORDER BY version LIMIT {PAGE}", chance.randrange(max(1, records - PAGE))))
    before, start = time.process_time(), time.monotonic()
    count = sum(1 for _ in database.execute("SELECT * FROM record WHERE version < ? ORDER BY version", (records,)))
    results[f"records of a full pull of {records}"] = (count, time.monotonic() - start, time.process_time() - before)
    line("empty polls, 16 connections",
         lambda: select_("SELECT * FROM record WHERE version > 4000000000 LIMIT 200") + 1)
    database.close()
    return results


# The table


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def print_table(columns):
    lines = list(columns["Welkin"])
    print("| unit | " + " | ".join(f"{name}: a second, µs" for name in columns) + " | Kinto ÷ Welkin, µs | Welkin ÷ Kinto, a second |")
    print("|---|" + "---|" * (len(columns) + 2))
    for name in lines:
        cells = []
        for results in columns.values():
            if name in results:
                units, seconds, processor = results[name]
                cells.append(f"{figure(units / seconds)}, {figure(processor / units * 1e6)}")
            else:
                cells.append("")
        ours, theirs = columns["Welkin"][name], columns["Kinto"][name]
        # The kernel counts hundredths of a second.
        ratio = (theirs[2] / theirs[0]) / (max(ours[2], 0.01) / ours[0])
        rate = (ours[0] / ours[1]) / (theirs[0] / theirs[1])
        print(f"| {name} | " + " | ".join(cells) + f" | {figure(ratio)} | {figure(rate)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--welkin", required=True)
    parser.add_argument("--kinto", required=True)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    programs = os.path.abspath(options.kinto)
    folder = tempfile.mkdtemp(prefix="welkin-peers-")
    os.chmod(folder, 0o755)
    columns, processes = {}, []
    # The servers end with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        welkin = Welkin(folder, os.path.abspath(options.welkin))
        processes.append(welkin.process)
        columns[Welkin.name] = work_over_http(welkin, options.records, options.seconds)
        stop(processes.pop())
        postgres = Postgres(folder)
        processes.append(postgres.process)
        kinto = Kinto(folder, programs, postgres)
        processes.append(kinto.process)
        columns[Kinto.name] = work_over_http(kinto, options.records, options.seconds)
        stop(processes.pop())
        columns[Postgres.name] = postgres.work(options.records, options.seconds)
        columns["SQLite"] = work_of_sqlite(folder, options.records, options.seconds)
    except Failed as failure:
        sys.exit(f"peers: {failure}")
    finally:
        for process in reversed(processes):
            stop(process)
        shutil.rmtree(folder, ignore_errors=True)
    print_table(columns)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(columns, file, indent=1)


def stop(process):
    # PostgreSQL waits for its clients at the usual signal.
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
