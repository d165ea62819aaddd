"""Observers of every fit of gradient boosting, such as a run of an experiment tracker.

An observer is a function of the estimator that returns a context manager. It is entered before the
fit, provides a callback for the rounds, and is exited after the fit, with the exception if the fit
raised one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from hedgerow._boosting.fit.fit_data import FitArguments

Observer = Callable[[Any], AbstractContextManager[Any]]

OBSERVERS: list[Observer] = []


def observe(observer: Observer) -> None:
    """Let an observer surround the fits that follow."""
    if observer not in OBSERVERS:
        OBSERVERS.append(observer)


def ignore(observer: Observer) -> None:
    """Undo `observe`."""
    if observer in OBSERVERS:
        OBSERVERS.remove(observer)


@contextmanager
def observed(estimator: Any, arguments: FitArguments) -> Iterator[FitArguments]:
    """Enter all observers; the arguments of the fit get their callbacks."""
    passed = arguments.callbacks
    callbacks = [passed] if passed is not None and not isinstance(passed, Iterable) else passed
    with ExitStack() as stack:
        added = [stack.enter_context(observer(estimator)) for observer in tuple(OBSERVERS)]
        yield replace(arguments, callbacks=[*(callbacks or ()), *added])
