"""Debian's Chromium, headless, over its DevTools protocol: open a page, ask it, picture it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from patience import LONG

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def _waited_for(ask: Callable[[], Any], otherwise: str) -> Any:
    """Return the first answer that is not nothing."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    raise TimeoutError(otherwise)


class Browser:
    """One page. Everything that it logs as an error, or tries to fetch, is kept."""

    def __init__(self) -> None:
        import websocket

        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [
            *(
                str(CHROMIUM),
                "--headless=new",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
            ),
            *("--disable-dev-shm-usage", "--disable-background-networking"),
            *("--remote-debugging-port=0", f"--user-data-dir={self._profile.name}", "about:blank"),
        ]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # which Chromium asks for of root
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.errors: list[str] = []
        self.fetched: list[str] = []
        self._number = 0
        self._socket = websocket.create_connection(
            self._page_address(), timeout=LONG, suppress_origin=True
        )
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _page_address(self) -> str:
        """Find the page's socket once the browser has said where it listens."""
        return str(_waited_for(self._find_page, "Chromium did not start"))

    def _find_page(self) -> str | None:
        known = Path(self._profile.name) / "DevToolsActivePort"
        lines = known.read_text().split() if known.exists() else []
        if len(lines) < 2:  # the port, then a path: all of it is written
            return None
        try:
            with urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=LONG) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
        except OSError:
            return None
        return pages[0]["webSocketDebuggerUrl"] if pages else None

    def call(self, method: str, **params: Any) -> Any:
        """Send a command and wait for its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            self._note(message)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            lines = details.get("exception", {}).get("description", details["text"])
            self.errors.append(lines)
        elif message.get("method") == "Runtime.consoleAPICalled":
            if params["type"] in ("error", "warning", "assert"):
                self.errors.append(" ".join(str(a.get("value", a)) for a in params["args"]))
        elif message.get("method") == "Log.entryAdded":
            if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(params["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.fetched.append(params["request"]["url"])

    def open(self, path: Path) -> None:
        """Open a report and wait until all of it is drawn."""
        self.ask("window.isBefore = true")
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("!window.isBefore && document.readyState === 'complete'")
        self.ask("window.hedgerowReady.then(() => true)")

    def wait_for(self, condition: str) -> None:
        """Ask until the answer is yes; a page that is about to go may not answer."""

        def answer() -> Any:
            try:
                return self.ask(condition)
            except RuntimeError:
                return None

        _waited_for(answer, f"never so: {condition}")

    def ask(self, expression: str) -> Any:
        """Evaluate an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **known)
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Make the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )

    def prefer(self, scheme: str) -> None:
        """Prefer light or dark, as a system's setting does."""
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def picture(self, path: Path, selector: str | None = None) -> None:
        """Store a picture of the page, or of a part of it."""
        options: dict[str, Any] = {"format": "png", "captureBeyondViewport": True}
        box = self.ask(
            f"(() => {{ const b = document.querySelector({json.dumps(selector or 'html')})"
            ".getBoundingClientRect();"
            " return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
        )
        options["clip"] = dict(zip(("x", "y", "width", "height"), box, strict=True)) | {"scale": 1}
        data = self.call("Page.captureScreenshot", **options)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=LONG)
        self._profile.cleanup()
