"""Sphinx configuration: `make docs` builds the site into out/site and treats warnings as errors.

Pages are Markdown, the reference is generated from docstrings, and the gallery runs its scripts.
Pages load nothing from other servers.
"""

from __future__ import annotations

import inspect
from typing import Any

import matplotlib as mpl
from sphinx.util.inspect import stringify_signature

import hedgerow

mpl.use("Agg")

project = "Hedgerow"
author = "the authors of Hedgerow"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's own name
version = release = hedgerow.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery"]  # its scripts become pages in auto_gallery

html_theme = "furo"
html_title = "Hedgerow"
html_static_path = ["_static"]
html_extra_path = ["_root"]  # what lies at the root of the site: llms.txt
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2f6b3a", "color-brand-content": "#2f6b3a"},
    "dark_css_variables": {"color-brand-primary": "#8fce9b", "color-brand-content": "#8fce9b"},
}

myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

smartquotes_action = "D"  # only dashes: the quotes of values such as 'auto' stay
default_role = "py:obj"  # `name` in a docstring is a link if the name exists
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"  # docstrings describe the types
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # keeps the underscore of `n_iter_`
napoleon_use_param = False  # descriptions of types are not links
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": float("inf"),
    "capture_repr": ("_repr_html_",),  # show what is printed, and what notebooks display
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
}


def skip_scikit_learn_members(
    _app: Any, _what: str, _name: str, thing: Any, _skip: bool, _options: Any
) -> bool | None:
    """Skip members inherited from scikit-learn, which documents them."""
    module = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__module__", None)
    return True if isinstance(module, str) and module.startswith("sklearn") else None


def show_parameters_of_init(
    _app: Any, what: str, _name: str, thing: Any, _options: Any, signature: str, _returned: str
) -> tuple[str, None] | None:
    """Show the parameters of `__init__`; Sphinx would use those of `__new__`, which checks them."""
    if what != "class" or signature is None or not isinstance(thing, type):
        return None
    if issubclass(thing, BaseException):  # which has no signature that Python knows
        return None
    return stringify_signature(inspect.signature(thing), show_annotation=False), None


def setup(app: Any) -> None:
    """Register the handlers that choose members and signatures."""
    app.connect("autodoc-skip-member", skip_scikit_learn_members)
    app.connect("autodoc-process-signature", show_parameters_of_init)
