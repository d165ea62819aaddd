"""Summary → one HTML page without external resources: template, style, scripts and data inline."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache, partial
from importlib import resources
from typing import Any

from hedgerow._export.javascript import math_script
from hedgerow._reporting.charts import charts_of
from hedgerow._reporting.wording import brief, fixed, number, share_text, signed
from hedgerow._result import imported
from hedgerow.plot._colors import COLORS

SCRIPTS = (
    *("what_if.js", "contributions.js", "waterfall.js", "fields.js", "threshold.js"),
    *("tree_view.js", "page.js"),
)
# Parts of the summary that the scripts read; the template renders the others.
DATA = ("trees", "what_if", "threshold")
LARGE = 3e6


def render(summary: dict[str, Any]) -> str:
    """Return the page."""
    environment = _environment()
    charts = charts_of(summary)
    data = {name: summary[name] for name in DATA} | {"charts": [c["spec"] for c in charts]}
    markup = imported("markupsafe", "report()").Markup
    body = markup(
        environment.get_template("body.html").render(
            summary=summary, charts=list(enumerate(charts))
        )
    )
    style, scripts = _style(), (_vega(), _script())
    page = partial(
        environment.get_template("page.html").render,
        summary=summary,
        body=body,
        contents=[entry | {"text": markup(entry["text"])} for entry in _contents(body)],
        policy=_policy(style, scripts),
        style=markup(style),
        scripts=list(map(markup, scripts)),
        data=markup(json_text(data)),
    )
    return str(page(page_size=_size_text(page(page_size=""))))


def _style() -> str:
    colors = "".join(f" --c{i}: {color};" for i, color in enumerate(COLORS))
    return f":root {{{colors} }}\n{_file('style.css')}"


def _script() -> str:
    return "(() => {\n" + "\n".join([math_script(), *map(_file, SCRIPTS)]) + "})();"


def _policy(style: str, scripts: Iterable[str]) -> str:
    """Return a content security policy by which only these scripts and this style are used.

    Style attributes, such as the lengths of bars, are numbers; they have no hashes. Browsers that
    do not know style-src-elem (Safari before 15.4) go by style-src.
    """
    hashes = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {hashes}; style-src-elem {_hash(style)}; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    # What a page is encoded to, where a lone surrogate is "?".
    digest = hashlib.sha256(text.encode(errors="replace")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _environment() -> Any:
    jinja2 = imported("jinja2", "report()")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_file),
    )
    environment.filters |= {
        "number": number,
        "figure": partial(number, strip=False),
        "signed": signed,
        "fixed": fixed,
        "percent": _percent,
        "count": _count,
        "breakable": _breakable,
    }
    return environment


def _contents(body: str) -> list[dict[str, Any]]:
    """Return the headings that have an anchor, in their order."""
    headings = re.finditer(
        r'<h2 id="([^"]+)-title">(.*?)<a |<h3 id="([^"]+)">(.*?)</h3>', body, re.DOTALL
    )
    return [
        {"level": 2 if one[1] else 3, "id": one[1] or one[3], "text": one[2] or one[4]}
        for one in headings
    ]


def _size_text(page: str) -> str:
    """Return the size of the page as text, with the reason if it is large."""
    n_bytes = len(page.encode(errors="replace"))
    why = " (most of it the trees of the model)" if n_bytes > LARGE else ""
    return f" of {n_bytes / 1e6:.1f} MB{why}"


def json_text(value: Any) -> str:
    """Return JSON for a script element: no tag can begin or end in it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _file(name: str) -> str:
    return (resources.files("hedgerow._reporting") / "page" / name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that only defines `vegaEmbed`."""
    convert = imported("vl_convert", "report()")
    bundle: str = convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return "(() => {" + bundle.replace("</script", "<\\/script") + "})();"


def _percent(value: float | None) -> str:
    return "–" if value is None else share_text(value)


def _breakable(name: str) -> Any:
    """Return a name with line-break opportunities between its words, shortened if it is long."""
    markup = imported("markupsafe", "report()").Markup
    return markup("<wbr>").join(re.split(r"(?<=[a-z])(?=[A-Z])|(?<=[_./])", brief(name)))


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
