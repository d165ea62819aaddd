"""The package `shap` takes models of this library: `TreeExplainer(model)`, `Explainer(model)`.

shap goes by a fixed list of class names, to which nothing can be added, so three of its functions
are wrapped: the conversion of models to trees, and what `TreeExplainer` returns for models that its
trees cannot express. That happens when shap is imported, or now if it is already. shap itself is
not imported here, and models of other libraries pass through unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_MODULE = "shap.explainers._tree"
# The `model_type` of an ensemble whose values are computed by this library.
_OWN = "hedgerow"


def take_part_in_shap() -> None:
    """Wrap shap's functions, as soon as there is a shap."""
    if _MODULE in sys.modules:
        _wrap(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _WhenImported())


class _WhenImported:
    """A finder that finds nothing by itself, but wraps the functions of the module once loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == _MODULE else None
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                _wrap(module)

            loader.exec_module = exec_module
        return spec


def _wrap(module: Any) -> None:
    names = ("TreeEnsemble", "TreeExplainer")
    if not all(hasattr(module, name) for name in names):  # a shap that is organised otherwise
        return
    ensemble, explainer = (getattr(module, name) for name in names)
    if hasattr(ensemble.__init__, "__wrapped__"):
        return
    ensemble.__init__ = _reading_models(ensemble.__init__)
    explainer.shap_values = _with_own_values(explainer.shap_values, interactions=False)
    explainer.shap_interaction_values = _with_own_values(
        explainer.shap_interaction_values, interactions=True
    )


def _reading_models(init: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor of shap's trees, which now converts models of this library, too."""

    @wraps(init)
    def constructor(self: Any, model: Any, data: Any = None, *args: Any, **options: Any) -> None:
        if not hasattr(type(model), "__hedgerow__"):
            init(self, model, data, *args, **options)
            return
        from hedgerow.explain import to_shap
        from hedgerow.explain._shap import unsupported_by_shap

        reason = unsupported_by_shap(model)
        if reason is None:
            init(self, to_shap(model), data, *args, **options)
            return
        _require_raw(reason, data, *args, **options)
        init(self, {"trees": []}, None, *args, **options)
        self.model_type, self.original_model = _OWN, model

    return constructor


def _with_own_values(method: Callable[..., Any], *, interactions: bool) -> Callable[..., Any]:
    """Return a method that has this library compute the values that shap cannot."""

    @wraps(method)
    def values(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if self.model.model_type != _OWN:
            return method(self, X, *args, **options)
        from hedgerow.explain import shap_values

        found = shap_values(self.model.original_model, X, interactions=interactions)
        self.expected_value = found.base_values[0]
        return found.values

    return values


def _require_raw(
    reason: str, data: Any, data_missing: Any = None, model_output: str | None = None
) -> None:
    """Refuse what the methods of this library do not return in shap's place."""
    del data_missing
    from hedgerow.exceptions import ParameterError

    if data is not None or model_output not in (None, "raw"):
        what = "a background" if data is not None else f"model_output={model_output!r}"
        raise ParameterError(
            f"{what} is not supported here, because shap.TreeExplainer does not support "
            f"{reason}. Leave it out; for values against a background, use "
            "hedgerow.explain.shap_values(model, X, background=...).to_explanation()."
        )
