"""Follow every link of the built site: pages, anchors, pictures, scripts.

`python docs/links.py FOLDER` prints those that lead nowhere and whatever is fetched
from elsewhere, and fails if there is any.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag is called and what it points to."""
        of = {name: value for name, value in attrs if value is not None}
        self.anchors |= {of[name] for name in ("id", "name") if name in of}
        if tag == "a" and "href" in of:
            self.links.append(of["href"])
        elif "src" in of:
            self.loads.append(of["src"])
        elif tag == "link" and of.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(of.get("href", ""))


def dead_links(site: Path) -> Iterator[str]:
    """Yield a line for each link that leads nowhere or fetches from elsewhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{here} fetches {target}"
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                yield f"{here}: there is no {target}"
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                yield f"{here}: no such place {target}"


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    wrong = list(dead_links(Path(sys.argv[1])))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
