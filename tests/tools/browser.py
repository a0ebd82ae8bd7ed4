"""A real Chromium without a window, driven through ChromeDriver by the W3C WebDriver protocol. Standard library only."""
import base64
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Tab": "\ue004"}


class Browser:
    """`with Browser() as browser:`; None of what it starts outlives it."""

    def __init__(self, width=1400, height=1000, dark=False):
        self.home = tempfile.mkdtemp(prefix="sp-browser-")
        self.size, self.dark = (width, height), dark
        self.session = None
        environment = {**os.environ, "HOME": self.home, "LANG": "C.UTF-8"}
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True, env=environment,
        )

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        for line in self.driver.stdout:
            if "successfully on port " in line:
                self.port = int(line.rsplit("on port ", 1)[1].strip(" .\n"))
                break
        options = {
            "args": [*ARGUMENTS, f"--user-data-dir={self.home}/user", "--window-size=%d,%d" % self.size],
            "perfLoggingPrefs": {"enableNetwork": True},
        }
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.ask("DELETE", f"/session/{self.session}")
        except (OSError, RuntimeError):
            pass
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.driver.wait()
        for _ in range(20):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                return
            time.sleep(0.1)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def do(self, path, **body):
        return self.ask("POST", f"/session/{self.session}/{path}", body)

    def cdp(self, command, **parameters):
        return self.do("goog/cdp/execute", cmd=command, params=parameters)

    def open(self, url):
        self.do("url", url=url)

    def run(self, script, *arguments):
        """What the function body returns; it sees the page's own names."""
        return self.do("execute/sync", script=script, args=arguments)

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.do("execute/async", script="requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", args=[])

    def find(self, selector):
        return self.do("element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        self.do(f"element/{self.find(selector)}/click")
        self.settle()

    def type(self, selector, text):
        self.do(f"element/{self.find(selector)}/value", text=text)
        self.settle()

    def press(self, *keys):
        """Keys to whatever has the focus."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.do("actions", actions=[{"type": "key", "id": "keys", "actions": actions}])
        self.settle()

    def mouse(self, *steps):
        """Steps ("move", x, y), ("down",), ("up",) in the window's pixels."""
        kinds = {"down": {"type": "pointerDown", "button": 0}, "up": {"type": "pointerUp", "button": 0}}
        actions = [kinds.get(step[0]) or {"type": "pointerMove", "x": int(step[1]), "y": int(step[2]), "duration": 0} for step in steps]
        self.do("actions", actions=[{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}])
        self.settle()

    def wheel(self, x, y, by):
        self.do("actions", actions=[{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": by, "duration": 0, "origin": "viewport"}]}])
        self.settle()

    def log(self, kind="browser"):
        return self.do("se/log", type=kind)

    def requests(self):
        """Addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path, whole=False):
        picture = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"] if whole else \
            self.ask("GET", f"/session/{self.session}/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))
