"""The website: groups of the sidebar, and pictures in the dark."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reporting.browser import CHROMIUM, Browser

DOCS = Path(__file__).parents[1] / "docs"
GREY = (19, 20, 22)  # of the theme, in the dark


def test_the_sidebar_has_the_groups_of_the_first_page():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*([^*]+)\*\* \| (.*) \|$", text, re.MULTILINE)
    in_table = {
        group: {
            page.removesuffix(".md")
            for page in re.findall(r"(?:\]\(|\{doc\}`[^`<]*<)([^)>]+)[)>]", links)
        }
        for group, links in rows
    }
    trees = re.findall(r"```\{toctree\}\n:hidden:\n:caption: (.*?)\n\n(.*?)```", text, re.DOTALL)
    in_sidebar = {
        group: {line.partition("<")[2].rstrip(">") or line for line in lines.splitlines()}
        for group, lines in trees
    }
    assert list(in_sidebar) == list(in_table)
    assert in_sidebar == in_table


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize(
    ("theme", "scheme", "is_dark"),
    [("dark", "light", True), ("auto", "dark", True), ("auto", "light", False)],
)
def test_the_background_of_a_picture_is_that_of_the_page(tmp_path, theme, scheme, is_dark):
    pytest.importorskip("websocket")
    picture = np.full((40, 40, 3), 255, np.uint8)
    picture[10:20, 10:20] = 0
    picture[25:35, 25:35] = (0, 114, 178)
    Image.fromarray(picture).save(tmp_path / "picture.png")
    color = f"rgb{GREY}" if is_dark else "white"
    style = (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text(
        f"<style>body {{ margin: 0; background: {color}; }} img {{ display: block; }} {style}"
        f"</style><body data-theme={theme}><article><img src=picture.png></article>"
        "<script>window.hedgerowReady = Promise.resolve()</script>"
    )
    browser = Browser()
    try:
        browser.prefer(scheme)
        browser.open(tmp_path / "page.html")
        browser.picture(tmp_path / "seen.png", "img")
    finally:
        browser.close()
    seen = np.asarray(Image.open(tmp_path / "seen.png").convert("RGB"), np.int64)
    paper, ink, blue = seen[2, 2], seen[15, 15], seen[30, 30]
    assert np.abs(paper - (GREY if is_dark else 255)).max() <= 2
    assert np.abs(ink - (255 if is_dark else 0)).max() <= 2
    assert blue[2] > blue[1] > blue[0]  # still blue
