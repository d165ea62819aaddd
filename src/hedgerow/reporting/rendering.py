"""Summary → one page of HTML that fetches nothing: template, style, scripts and data inline."""

from __future__ import annotations

import json
import re
from functools import cache, partial
from importlib import resources
from typing import Any

from hedgerow.plot.colors import COLORS
from hedgerow.reporting.charts import charts_of
from hedgerow.reporting.verdict import brief, number
from hedgerow.result import imported

SCRIPTS = ("math.js", "what_if.js", "fields.js", "tree_view.js", "page.js")
# What the page's scripts read; the rest is written into the page by the template.
DATA = ("trees", "what_if")


def render(summary: dict[str, Any]) -> str:
    """Return the page."""
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
        "percent": _percent,
        "count": _count,
        "breakable": _breakable,
    }
    charts = charts_of(summary)
    data = {name: summary[name] for name in DATA} | {"charts": [c["spec"] for c in charts]}
    markup = imported("markupsafe", "report()").Markup
    page: str = environment.get_template("page.html").render(
        summary=summary,
        charts=list(enumerate(charts)),
        colors=COLORS,
        style=markup(_file("style.css")),
        vega=markup(_vega()),
        scripts=markup("\n".join(map(_file, SCRIPTS))),
        data=markup(json_text(data)),
    )
    return page


def json_text(value: Any) -> str:
    """Return JSON that can stand in a script element: no tag can begin or end in it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _file(name: str) -> str:
    return (resources.files("hedgerow.reporting") / "page" / name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that leaves only `vegaEmbed` behind."""
    convert = imported("vl_convert", "report()")
    bundle: str = convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return "(() => {" + bundle.replace("</script", "<\\/script") + "})();"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _breakable(name: str) -> Any:
    """Return a name that may go on in another line where its words end, cut if it is long."""
    markup = imported("markupsafe", "report()").Markup
    return markup("<wbr>").join(re.split(r"(?<=[a-z])(?=[A-Z])|(?<=[_./])", brief(name)))


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
