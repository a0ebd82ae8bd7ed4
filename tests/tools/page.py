"""Reads the data of a report's page. Standard library only."""
import base64
import json
import re


def read(path):
    """The document, and the text of the page around it."""
    text = open(path, encoding="utf-8", newline="").read()
    start = '<script type="application/json" id="data">'
    head, rest = text.split(start)
    data, tail = rest.split("</script>", 1)
    return json.loads(data), head + tail


def numbers(text):
    """LEB128 in base64."""
    number = shift = 0
    for byte in base64.b64decode(text):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def blocks(document):
    """Of the timeline: rank, thread, depth, start, end, calls, [(region, percent)...] (100 % of one call)."""
    names = [region["region"] for region in document["regions"]]
    for rank in document["timeline"]["ranks"]:
        for lane in rank["lanes"]:
            for depth, text in enumerate(lane["depths"]):
                stream, at = numbers(text), 0
                for _ in range(next(stream)):
                    start = at + next(stream)
                    at = start + next(stream)
                    calls, mix = next(stream), []
                    if calls == 1:
                        mix = [(names[next(stream)], 100)]
                    else:
                        next(stream)
                        mix = [(names[next(stream)], next(stream)) for _ in range(next(stream))]
                    yield rank["rank"], lane["thread"], depth, start, at, calls, mix
                assert next(stream, None) is None, "bytes after the last block"


def paths(document):
    """Of the flame graph: {(region, ...): (calls, total, exclusive)}."""
    flame, names, found, keys = document["flame"], [r["region"] for r in document["regions"]], {}, []
    for parent, region, *figures in zip(*(flame[key] for key in ("parent", "region", "calls", "total_ns", "exclusive_ns"))):
        keys.append((keys[parent] if parent >= 0 else ()) + (names[region],))
        found[keys[-1]] = tuple(figures)
    return found


def external(text):
    """What of the page would be fetched, or is markup that is not the template's."""
    return re.findall(r"""(?:src|href|action)=["'](?!data:|#)[^>"' ]+|@import|url\(|<img|<iframe|<link(?! rel="icon")|eval\(|innerHTML""", text)
