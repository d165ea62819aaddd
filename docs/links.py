"""Check every link of the built site: pages, anchors, images, scripts.

`python docs/links.py FOLDER` prints dead links and resources loaded from other servers, and fails
if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors, links and loaded resources of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the anchors and targets of a tag."""
        attributes = {name: value for name, value in attrs if value is not None}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif "src" in attributes:
            self.loads.append(attributes["src"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(attributes.get("href", ""))


def dead_links(site: Path) -> Iterator[str]:
    """Yield a line for each dead link and each resource from another server."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{here} loads {target}"
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                yield f"{here}: no file {target}"
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                yield f"{here}: no anchor {target}"


def main() -> int:
    """Print the dead links; return 1 if there are any."""
    dead = list(dead_links(Path(sys.argv[1])))
    print(*dead, sep="\n", end="\n" if dead else "")
    return int(bool(dead))


if __name__ == "__main__":
    sys.exit(main())
