"""Saves and reads records of one user at a cloud until Ctrl-C, and prints once a second how that goes: the demonstration of script/cluster.

    cluster_demo.py ENDPOINT CREDENTIALS SECONDS    0 seconds: until Ctrl-C
"""

import http.client
import json
import sys
import time
import urllib.parse

CONTAINER = "iCloud.org.welkin.cluster"
# The pauses of the framework, for requests that may be sent again.
PAUSES = [0.5, 1, 2, 4, 8, 16]


class Cloud:
    """One user's private database. Repeats what failed on the way, or with 503, as apps do."""

    def __init__(self, endpoint, credentials):
        self.host = urllib.parse.urlsplit(endpoint).netloc
        entry = next(e for e in credentials["containers"] if e["container"] == CONTAINER)
        query = urllib.parse.urlencode(
            {"ckAPIToken": entry["apiToken"], "ckWebAuthToken": entry["webAuthToken"]}, quote_via=urllib.parse.quote)
        self.query = "?" + query
        self.path = f"/database/1/{CONTAINER}/development/private/"
        self.repeated = 0

    def call(self, operation, body):
        for pause in [*PAUSES, None]:
            try:
                connection = http.client.HTTPConnection(self.host, timeout=30)
                connection.request(
                    "POST", self.path + operation + self.query, json.dumps(body), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                # A proxy that has lost a node, or finds none, says 502, 503 or 504.
                if answer.status not in (502, 503, 504):
                    return answer.status, json.loads(text)
            except (OSError, http.client.HTTPException):
                pass
            if pause is None:
                raise SystemExit("the cloud does not answer")
            self.repeated += 1
            time.sleep(pause)

    def save(self, name):
        """Returns whether the record is there now; one that an earlier attempt saved counts."""
        record = {"recordName": name, "recordType": "Note", "fields": {"text": {"value": "saved at " + time.ctime()}}}
        _, body = self.call("records/modify", {"operations": [{"operationType": "create", "record": record}]})
        answer = body.get("records", [body])[0]
        return "recordChangeTag" in answer or answer.get("serverErrorCode") in ("CONFLICT", "EXISTS")

    def has(self, name):
        _, body = self.call("records/lookup", {"records": [{"recordName": name}]})
        return "recordChangeTag" in body.get("records", [{}])[0]


def main():
    endpoint, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        cloud = Cloud(endpoint, json.load(file))
    begin = shown = time.monotonic()
    saved, missing, longest = 0, 0, 0.0
    print(f"{'saved':>7} {'repeated':>9} {'missing':>8} {'longest wait':>13}")
    try:
        while not seconds or time.monotonic() - begin < seconds:
            start = time.monotonic()
            name = f"note-{saved + 1}"
            if not cloud.save(name):
                raise SystemExit(f"{name} was refused")
            saved += 1
            missing += not cloud.has(name)
            longest = max(longest, time.monotonic() - start)
            if time.monotonic() - shown >= 1:
                shown = time.monotonic()
                print(f"{saved:7} {cloud.repeated:9} {missing:8} {longest:11.2f} s", flush=True)
                longest = 0.0
            time.sleep(0.05)
    except KeyboardInterrupt:
        print()
    lost = sum(not cloud.has(f"note-{number}") for number in range(1, saved + 1))
    print(f"{saved} records were saved, {lost} of them are gone")
    sys.exit(1 if lost or missing else 0)


if __name__ == "__main__":
    main()
