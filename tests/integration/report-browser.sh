#!/bin/bash
# A page in a real Chromium: zoom, search, sort, click-through and keyboard do what they say; names that are markup stay
# text; nothing is fetched and nothing complains.
. "$(dirname "$0")/common.sh"
for program in chromium chromedriver; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done

$PY - "$T" "$TOOLS" <<'PYTHON' || fail "cannot make the traces"
import json, subprocess, sys
folder, tools = sys.argv[1:]
evil = ["</script><script>document.title = 'evil'</script>", "<img src=x onerror=\"document.title = 'evil'\">", "\u202egnirts\u2028 \"quoted\""]
for rank in range(4):
    step, solve, other = [], [], []
    for i in range(200):
        at = 10**9 + i * 10**6
        step.append((at, at + 900_000))
        solve.append((at + 1000, at + 1000 + 200_000 * (rank == 2) + 300_000 + i * 100))
        other.append((at + 850_000, at + 850_000 + 40_000))
    calls = {"step": step, "solve": solve, evil[0]: other[::3], evil[1]: other[1::3], evil[2]: other[2::3]}
    spec = {"rank": rank, "version": 2, "order": "<", "regions": [
        {"name": name, "source_file": "<b>a.c", "source_line": 1, "starts": [s for s, _ in c], "ends": [e for _, e in c]} for name, c in calls.items()]}
    json.dump(spec, open(f"{folder}/spec.json", "w"))
    subprocess.run([sys.executable, f"{tools}/spt.py", "make", f"{folder}/heat_rank{rank:05d}.spt", f"{folder}/spec.json"], check=True)
PYTHON
spctl report "$T"/heat_rank*.spt -o "$T/report.html" >"$T/out" 2>&1 || fail "no page: $(tail -n 1 "$T/out")"

timeout -k 5 120 $PY - "$T" "$TOOLS" <<'PYTHON' || fail "the page does not do that"
import base64, sys
folder, tools = sys.argv[1:]
sys.path.insert(0, tools)
from browser import Browser

def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, not {wanted!r}")

with Browser() as browser:
    browser.log("performance")
    browser.open(f"file://{folder}/report.html")
    browser.settle()
    run = browser.run
    names = lambda: run("return [...document.querySelectorAll('#table tbody .name')].map(n => n.textContent)")
    window = lambda: run("return [state.from, state.to]")
    picture = lambda id: run("return document.getElementById(arguments[0]).toDataURL()", id)
    blank = lambda id: run("const c = document.getElementById(arguments[0]); return Object.assign(document.createElement('canvas'),"
                           "{width: c.width, height: c.height}).toDataURL()", id)

    # Names are text, and what would turn them round is shown as its number.
    same("title", run("return document.title"), "4 inputs – profile")
    same("names", sorted(names()), sorted(["step", "solve", "</script><script>document.title = 'evil'</script>",
         "<img src=x onerror=\"document.title = 'evil'\">", "\\u202egnirts\\u2028 \"quoted\""]))
    same("elements of names", run("return document.querySelectorAll('img, b:not(#tip b), script').length"), 2)
    same("finding", run("return document.querySelector('#findings li').textContent").split(" takes")[0][1:], "step")
    for id in ("time", "flames", "map", "histogram", "over-time", "by-rank"):
        if picture(id) == blank(id):
            sys.exit(f"nothing is drawn in {id}")

    # Sorting, by mouse and by keys.
    browser.click("th[data-key=calls] button")
    same("sorted", run("return document.querySelector('th[aria-sort]').dataset.key + ' ' + document.querySelector('th[aria-sort]').ariaSort"), "calls descending")
    calls = run("return [...document.querySelectorAll('#table tbody tr')].map(r => regions[r.dataset.line].calls)")
    same("by calls", calls, sorted(calls, reverse=True))
    run("document.querySelector('th[data-key=region] button').focus()")
    browser.press("Enter")
    same("by name", run("return document.querySelector('th[aria-sort]').ariaSort"), "ascending")
    same("names", names(), run("return regions.map(r => r.name).sort((a, b) => a.localeCompare(b))"))

    # Searching: the table shows what fits, the timeline redraws.
    before = picture("time")
    browser.press("/")
    browser.type("#search", "SOL")
    same("search", names(), ["solve"])
    same("marked", run("return document.querySelector('#table mark').textContent"), "sol")
    if picture("time") == before:
        sys.exit("the timeline does not show what was searched for")
    browser.press("Escape")
    same("no search", len(names()), 5)

    # From the table to the region, by a click and by keys.
    line = run("return regions.find(r => r.name === 'step').line")
    browser.click(f"#table tr[data-line='{line}'] .name")
    same("chosen", run("return [document.getElementById('detail-name').textContent, document.querySelector('tr[aria-selected=true]').dataset.line, state.chosen]"),
         ["step", str(line), True])
    run("document.querySelector('#table tbody tr').focus()")
    browser.press("Down", "Enter")
    same("chosen by keys", run("return document.activeElement.dataset.line"), run("return String(state.region)"))

    # Zooming: buttons, keys, wheel, dragging; all of it again.
    whole = window()
    run("document.getElementById('timeline').scrollIntoView()")
    browser.click("[data-time=in]")
    same("zoomed", window()[1] - window()[0], whole[1] / 2)
    run("document.getElementById('time').focus()")
    browser.press("+", "Left")
    same("by keys", window(), [whole[1] * .3125, whole[1] * .5625])
    box = run("const b = document.getElementById('time').getBoundingClientRect(); return [b.left, b.top, b.width]")
    browser.wheel(box[0] + box[2] / 2, box[1] + 80, -200)
    length = window()[1] - window()[0]
    if not length < whole[1] * .2:
        sys.exit(f"the wheel does not zoom: {length}")
    at = window()[0]
    browser.mouse(("move", box[0] + 600, box[1] + 80), ("down",), ("move", box[0] + 500, box[1] + 80), ("up",))
    if not at < window()[0] < at + length or abs(window()[1] - window()[0] - length) > 2:
        sys.exit(f"dragging does not move: {window()}")
    browser.press("0")
    same("all", window(), whole)
    browser.press("=", "=", "=", "=", "=", "=", "=")
    text = run("return document.getElementById('range').textContent")
    if "ms" not in text:
        sys.exit(f"the range says {text!r}")
    # The address holds what is seen, and brings it back.
    run("document.getElementById('time').blur()")
    browser.do("execute/async", script="setTimeout(arguments[0], 250)", args=[])
    held = window()
    url = run("return location.href")
    browser.open("about:blank")
    browser.open(url)
    browser.settle()
    if any(abs(a - b) > 1 for a, b in zip(window(), held)):
        sys.exit(f"the address {url} brings back {window()}, not {held}")

    # The flame graph zooms, by keys too; the heat map leads to region and rank.
    run("document.getElementById('flames').focus()")
    browser.press("Down", "Down", "Enter")
    same("path", run("return pathName(flame.paths[state.path])"), "step › solve")
    browser.press("0")
    same("all paths", run("return state.path"), -1)
    solve = run("return regions.find(r => r.name === 'solve').line")
    x, y = run("document.getElementById('heat').scrollIntoView(); const b = document.getElementById('map').getBoundingClientRect();"
               "return [b.left + heat.gutter + 2.5 * heat.cell, b.top + heat.head + (arguments[0] + .5) * heat.row]", solve)
    browser.mouse(("move", x, y), ("down",), ("up",))
    same("cell", run("return [regions[state.region].name, state.rank]"), ["solve", 2])
    if "rank 2" not in run("return document.getElementById('tip').textContent"):
        sys.exit("no tip for the cell")

    # Dark, narrow, and on paper.
    light = run("return getComputedStyle(document.body).backgroundColor")
    browser.click("#theme")
    if run("return getComputedStyle(document.body).backgroundColor") == light:
        sys.exit("it does not turn dark")
    browser.cdp("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=True)
    browser.settle()
    same("wider than a phone", run("return document.documentElement.scrollWidth"), 360)
    pdf = base64.b64decode(browser.cdp("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
    if not pdf.startswith(b"%PDF") or len(pdf) < 20000:
        sys.exit("it does not print")
    same("back from paper", run("return document.documentElement.dataset.theme"), "dark")
    same("complaints", browser.log(), [])
    same("requests", [url for url in browser.requests() if not url.startswith((f"file://{folder}/report.html", "data:", "chrome:", "about:"))], [])
PYTHON
echo "the page does in Chromium what it says"
