"""A page in headless Chromium, looked at by its debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

_PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
needs_chromium = pytest.mark.skipif(_PROGRAM is None, reason="needs Chromium")


class Page:
    """One tab. `errors` are messages of the console, `requests` addresses that it asked for."""

    def __init__(self, *, width=1300, height=900, dark=False):
        websocket = pytest.importorskip("websocket")
        self.errors, self.requests = [], []
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [
                *(_PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio"),
                *("--no-first-run", "--disable-background-networking", "--remote-allow-origins=*"),
                *("--remote-debugging-port=0", f"--user-data-dir={self._folder.name}"),
                *(f"--window-size={width},{height}", "about:blank"),
            ],
            stderr=subprocess.DEVNULL,
        )
        port = self._port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            tab = next(each for each in json.load(answer) if each["type"] == "page")
        self._socket = websocket.create_connection(tab["webSocketDebuggerUrl"], timeout=60)
        self._number = 0
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def _port(self):
        told = Path(self._folder.name, "DevToolsActivePort")
        for _ in range(600):
            if told.exists() and told.read_text().count("\n"):
                return int(told.read_text().splitlines()[0])
            time.sleep(0.05)
        raise AssertionError("Chromium does not start")

    def call(self, method, **parameters):
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            found = json.loads(self._socket.recv())
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            self._note(found)

    def _note(self, event):
        told = event.get("params", {})
        match event["method"]:
            case "Runtime.exceptionThrown":
                self.errors.append(told["exceptionDetails"]["exception"].get("description"))
            case "Log.entryAdded" if told["entry"]["level"] == "error":
                self.errors.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])

    def open(self, address):
        """Open an address; the seconds until it is drawn."""
        begin = time.perf_counter()
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && document.getElementById('rows')")
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.perf_counter() - begin

    def run(self, script):
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition):
        for _ in range(600):
            if self.run(f"Boolean({condition})"):
                return
            time.sleep(0.05)
        raise AssertionError(f"never {condition}")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"Enter": "\r"}.get(key, key)
            text = {"text": text} if len(text) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def drag(self, start, stop):
        """Press the mouse at a point (x, y) of the window and release it at another."""
        for kind, (x, y) in (("Pressed", start), ("Moved", stop), ("Released", stop)):
            pressed = {"button": "left", "buttons": int(kind != "Released"), "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **pressed)

    def shot(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()
