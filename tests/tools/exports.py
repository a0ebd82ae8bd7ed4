#!/usr/bin/python3
"""Independent readers of what spctl export writes. Each insists on its format's rules.

Usage: exports.py compare DIR [SCHEMA]    DIR holds one profile's x.chrome, x.speedscope, x.csv, x.json, x.folded and
                                          x.openmetrics: they must tell of the same calls; prints them as JSON:
                                          {"rank/region": [count, total, minimum, maximum]}. SCHEMA: speedscope's own
       exports.py fixtures SPCTL FIXTURES DIR    the same for all sound fixtures, against expected.json
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys
from decimal import Decimal

Call = collections.namedtuple("Call", "rank lane region start end")


def need(truth, *words):
    if not truth:
        sys.exit("exports.py: " + " ".join(map(str, words)))


def chrome(path):
    """Perfetto's and chrome://tracing's rules for metadata and complete events."""
    document = json.load(open(path, encoding="utf-8"), parse_float=Decimal)
    calls, processes, threads, order = [], {}, {}, {}
    for event in document["traceEvents"]:
        pid, tid = event["pid"], event["tid"]
        need(type(pid) is int and type(tid) is int and tid > 0, "ids are no numbers:", event)
        if event["ph"] == "M":
            table = {"process_name": processes, "thread_name": threads}.get(event["name"])
            need(table is not None or event["name"] in ("process_sort_index", "thread_sort_index"), "what is", event)
            key = pid if table is processes else (pid, tid)
            if table is None:
                need(type(event["args"]["sort_index"]) is int, "no sort index:", event)
            else:
                need(key not in table, key, "is named twice")
                table[key] = event["args"]["name"]
            continue
        need(event["ph"] == "X" and isinstance(event["name"], str) and isinstance(event["cat"], str), "what is", event)
        need((pid, tid) in threads and processes.get(pid) == f"rank {pid}", "nobody named the lane of", event)
        for key in ("ts", "dur"):
            need(event[key] >= 0 and event[key].as_tuple().exponent == -3, key, "is not in ns:", event)
        need(event["ts"] >= order.get(pid, 0), "events of rank", pid, "stand out of order")
        order[pid] = event["ts"]
        start = int(event["ts"] * 1000)
        calls.append(Call(pid, tid - 1, event["name"], start, start + int(event["dur"] * 1000)))
    return calls, int(document["otherData"]["start_time_ns"])


def speedscope(path, schema):
    document = json.load(open(path, encoding="utf-8"))
    if schema:
        import jsonschema
        jsonschema.Draft7Validator(json.load(open(schema, encoding="utf-8"))).validate(document)
    need(document["$schema"] == "https://www.speedscope.app/file-format-schema.json", "the schema is not named")
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    calls, lanes = [], collections.Counter()
    for profile in document["profiles"]:
        need((profile["type"], profile["unit"]) == ("evented", "nanoseconds"), "what is", profile["name"])
        rank = int(re.fullmatch(r"rank (\d+) (?:lane|thread) \d+.*", profile["name"], re.S).group(1))
        lane, stack, at = lanes[rank], [], profile["startValue"]
        lanes[rank] += 1
        for event in profile["events"]:
            need(at <= event["at"] <= profile["endValue"], profile["name"], "goes back in time at", event)
            at = event["at"]
            if event["type"] == "O":
                stack.append(event)
                continue
            need(event["type"] == "C" and stack and stack[-1]["frame"] == event["frame"], "closes another call:", event)
            calls.append(Call(rank, lane, frames[event["frame"]], stack.pop()["at"], at))
        need(not stack and at == profile["endValue"], profile["name"], "leaves calls open")
    return calls


COLUMNS = ["rank", "thread", "lane", "region", "start_ns", "end_ns", "depth", "exclusive_ns"]


def rows(path):
    """The rows of csv, as the objects of json are."""
    with open(path, newline="", encoding="utf-8") as handle:
        reader = csv.reader(handle, strict=True)
        need(next(reader) == COLUMNS, "the header is another one")
        for row in reader:
            need(len(row) == len(COLUMNS), "a row of", len(row), "fields")
            yield {key: value if key == "region" else int(value) if value else None for key, value in zip(COLUMNS, row)}


def nest(table):
    """{path: exclusive ns} by a walk over each lane; depths and exclusive times of the rows must be the same."""
    lanes, paths = collections.defaultdict(list), collections.Counter()
    for row in table:
        lane = lanes[row["rank"], row["lane"]]
        need(not lane or lane[-1]["end_ns"] <= row["end_ns"], "a lane's calls are not in the order they ended:", row)
        lane.append(row)
    for lane in lanes.values():
        stack = []
        need(len({row["thread"] for row in lane}) == 1, "a lane of two threads")
        for _, row in sorted(enumerate(lane), key=lambda r: (r[1]["start_ns"], -r[1]["end_ns"], r[1]["depth"])):
            start, end = row["start_ns"], row["end_ns"]
            while stack and stack[-1]["end_ns"] <= start and not stack[-1]["end_ns"] == start == end:
                stack.pop()
            need(len(stack) == row["depth"] and (not stack or end <= stack[-1]["end_ns"]), "is not nested so:", row)
            row["own"] = end - start
            row["path"] = (stack[-1]["path"] if stack else ()) + (row["region"],)
            if stack:
                stack[-1]["own"] -= end - start
            stack.append(row)
        for row in lane:
            need(row["own"] == row["exclusive_ns"], "its exclusive time is", row["own"], row)
            paths[row["path"]] += row["own"]
    return paths


def folded(path):
    paths = {}
    for line in open(path, encoding="utf-8", newline="\n"):
        stack, value = line.rstrip("\n").rsplit(" ", 1)
        names = tuple(re.sub(r"\\(x..|\\)", lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), name)
                      for name in stack.split(";"))
        need(names not in paths, names, "stands twice")
        paths[names] = int(value)
    return paths


def openmetrics(path):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    table, dropped = collections.defaultdict(dict), None
    for family in text_string_to_metric_families(open(path, encoding="utf-8", newline="").read()):
        for sample in family.samples:
            if "region" in sample.labels:
                key = f'{sample.labels["rank"]}/{sample.labels["region"]}'
                table[key][sample.name] = round(sample.value * (1 if "calls" in sample.name else 1e9))
            elif sample.name == "scope_profiler_dropped_calls_total":
                dropped = sample.value
    need(dropped is not None, "nothing says what was dropped")
    names = ["calls_total", "time_seconds_total", "call_min_seconds", "call_max_seconds"]
    return ({key: [row["scope_profiler_" + name] for name in names] for key, row in table.items()},
            {key: row["scope_profiler_exclusive_time_seconds_total"] for key, row in table.items()
             if "scope_profiler_exclusive_time_seconds_total" in row})


def sums(calls):
    table = collections.defaultdict(list)
    for call in calls:
        table[f"{call.rank}/{call.region}"].append(call.end - call.start)
    return {key: [len(all_), sum(all_), min(all_), max(all_)] for key, all_ in table.items()}


def compare(folder, schema=None):
    table = list(rows(folder + "/x.csv"))
    need(table == json.load(open(folder + "/x.json", encoding="utf-8")), "csv and json differ")
    calls, first = chrome(folder + "/x.chrome")
    need(first == min((row["start_ns"] for row in table), default=0), "the first call is another one")
    wanted = sorted(Call(row["rank"], row["lane"], row["region"], row["start_ns"] - first, row["end_ns"] - first)
                    for row in table)
    need(sorted(calls) == wanted, "chrome and csv differ")
    need(sorted(speedscope(folder + "/x.speedscope", schema)) == wanted, "speedscope and csv differ")
    paths, (totals, exclusive) = nest(table), openmetrics(folder + "/x.openmetrics")
    need(folded(folder + "/x.folded") == dict(paths), "folded and csv differ")
    need(totals == sums(wanted), "openmetrics and csv differ")
    own = collections.Counter()
    for row in table:
        own[f'{row["rank"]}/{row["region"]}'] += row["own"]
    need(all(own[key] == value for key, value in exclusive.items()), "openmetrics and csv differ in", exclusive)
    return totals


def fixtures(spctl, folder, out):
    """Every format of every sound fixture, traces all at once; prints how many those are."""
    expected = {name: table for name, table in json.load(open(folder + "/expected.json", encoding="utf-8")).items()
                if "error" not in table and name != "aggregate.h5"}
    traces = [name for name in expected if name.endswith(".spt")]
    for group in [traces] + [[name] for name in expected if name not in traces]:
        jobs = [subprocess.Popen([spctl, "export", *(os.path.join(folder, name) for name in group), "-f", form,
                                  "-o", f"{out}/x.{form}"], stdout=subprocess.DEVNULL)
                for form in ("chrome", "speedscope", "csv", "json", "folded", "openmetrics")]
        need([job.wait() for job in jobs] == [0] * len(jobs), *group, "are not exported")
        need(compare(out) == {key: row for name in group for key, row in expected[name].items()},
             *group, "have other counts than expected.json")
    print(len(expected))


if __name__ == "__main__":
    if sys.argv[1:2] == ["fixtures"]:
        sys.exit(fixtures(*sys.argv[2:]))
    need(len(sys.argv) > 2 and sys.argv[1] == "compare", __doc__)
    print(json.dumps(compare(*sys.argv[2:4])))
