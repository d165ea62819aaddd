"""The queries of a ranker: rows of one stay together, and every fold gets its own."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from hedgerow._data.ranking_queries import read_group_sizes, split_column
from hedgerow.exceptions import DataError, ParameterError


def with_queries(
    model: Any, X: Any, qid: Any, groups: Any, params: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the groups of rows and the arguments of `fit`, queries among them if it takes any."""
    options, name = dict(params), type(model).__name__
    if "qid" not in signature(model.fit).parameters:
        if qid is not None:
            raise ParameterError(f"qid: fit of {name} takes none.")
        return groups, options
    if options.get("group") is not None:  # sizes, which folds could not take their part of
        options["qid"] = read_group_sizes(options.pop("group"))
    if qid is not None and options.get("qid") is not None:
        raise ParameterError("qid is given twice: as it is and in params.")
    if qid is not None:
        options["qid"] = qid
    queries, column = options.get("qid"), getattr(model, "qid_column", None)
    if column is not None:
        queries = split_column(X, column)[0]
    if queries is None:
        raise DataError(
            f"{name} must be told which rows belong to a query, by an id for each row: "
            "cross_validate(model, X, y, qid=qid)."
        )
    return queries if groups is None else groups, options
