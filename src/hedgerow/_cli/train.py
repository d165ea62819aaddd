"""`hedgerow train`: a file → a model, its metrics and its report."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow._cli.choices import METRICS, MODEL, REPORT, TEST_SIZE
from hedgerow._cli.dataset import ExpectedColumns, LabeledDataset, Roles, read_dataset
from hedgerow._cli.holdout import folds, part_rows
from hedgerow._cli.models import fit_options, model_named, new_model, require_task
from hedgerow._cli.options import Reading, source_name
from hedgerow._cli.output import (
    all_or_nothing,
    answer_json,
    count,
    lines_of,
    number,
    require_folder,
    say,
    size_of,
    summarise,
    to_json,
)
from hedgerow._cli.report import write_report
from hedgerow._cli.scores import fold_scores, measure, positive_class, require_classes
from hedgerow._cli.tasks import TaskChoice, find_task, has_numeric_target
from hedgerow._params import check_parameters, parameters_of
from hedgerow.exceptions import ParameterError

_ROUNDS_A_LINE = 100  # of progress, where there is no terminal for a bar
_SHOWN_FEATURES = 5
_ROLES = ("target", "event", "qid", "weights", "groups", "drop_missing_target")


def train(as_json: bool, **options: Any) -> None:
    """Train, and write what comes of it into a folder; the options are those of `Training`."""
    is_numeric = has_numeric_target(options["task"], options["event"], options["qid"])
    options["roles"] = Roles(
        **{name: options.pop(name) for name in _ROLES},
        target_kind="number" if is_numeric else "any",
        drop=tuple(name.strip() for name in options.pop("drop").split(",") if name.strip()),
    )
    Training(**options).run(as_json=as_json)


@dataclass(frozen=True)
class Judged:
    """What rows that were held out say of a model: metrics, and the rows if there is one set."""

    how: str
    metrics: Mapping[str, float]
    spread: Mapping[str, float] | None = None
    rows: LabeledDataset | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what metrics.json says."""
        fields: dict[str, Any] = {"how": self.how, "metrics": dict(self.metrics)}
        if self.spread is not None:
            fields["standard_deviation"] = dict(self.spread)
        return fields

    def text(self) -> str:
        """Return lines for people."""
        width = max(map(len, self.metrics), default=0)
        return "\n".join(
            [self.how, *(f"{name:<{width}}  {self._value(name)}" for name in self.metrics)]
        )

    def _value(self, name: str) -> str:
        value = self.metrics[name]
        if self.spread is None:
            return number(value)
        if not math.isfinite(value):
            return "– (not defined in every fold)"
        return f"{number(value)} ± {number(self.spread[name])}"


@dataclass(frozen=True, kw_only=True)
class Training:
    """A run of the command, step by step; its fields are the options."""

    data: Path
    roles: Roles
    reading: Reading
    positive: str | None
    task: str | None
    family: str
    given: tuple[str, ...]
    budget: str | None
    test_file: Path | None
    test_size: float | None
    n_folds: int | None
    seed: int
    threads: int | None
    out: Path
    no_report: bool
    quiet: bool

    def run(self, *, as_json: bool) -> None:
        """Train, judge, write, and say so."""
        self._check()
        model = self.new_model
        check_parameters(model)
        self._note(f"task: {self.found_task.name}, {self.found_task.why}")
        label = self._positive_label(model)
        started = time.perf_counter()
        judged = self._fit_and_judge(model, label)
        seconds = time.perf_counter() - started
        if self.reading.na:
            model.na_values_ = list(self.reading.na)  # which its file keeps
        report_note = self._write(model, judged, label)
        self._answer(model, judged, seconds, report_note, as_json=as_json)

    def _check(self) -> None:
        """Refuse what cannot be done, before anything is read."""
        family = model_named(self.family)
        require_task(family, self.task)
        if family != "gradient_boosting" and self.budget is not None:
            raise ParameterError(f"--budget is for gradient_boosting, not for {self.family}.")
        ways = {"--test": self.test_file, "--test-size": self.test_size, "--cv": self.n_folds}
        chosen = [name for name, value in ways.items() if value is not None]
        if len(chosen) > 1:
            raise ParameterError(f"{' and '.join(chosen)} are two ways to judge: choose one.")
        require_folder(self.out)
        for name in (MODEL, METRICS, REPORT):
            if (self.out / name).is_dir():
                raise ParameterError(f"cannot write {self.out / name}: it is a folder.")

    @cached_property
    def dataset(self) -> LabeledDataset:
        """All rows of the file."""
        self._note(f"reading {source_name(self.data)}")
        return read_dataset(self.data, self.reading, self.roles)

    @cached_property
    def found_task(self) -> TaskChoice:
        """What is learned."""
        return find_task(self.task, self.dataset, self.roles)

    @property
    def new_model(self) -> Any:
        """The model, not yet fitted."""
        given = self.given if self.budget is None else (f"budget={self.budget}", *self.given)
        verbose = 0 if self.quiet else 1 if sys.stderr.isatty() else _ROUNDS_A_LINE
        machine = {"random_state": self.seed, "n_jobs": self.threads, "verbose": verbose}
        return new_model(model_named(self.family), self.found_task, given, machine)

    def _positive_label(self, model: Any) -> Any:
        """Return the class that is positive, or None."""
        if self.positive is None:
            return None
        return positive_class(self.positive, model, np.asarray(pd.unique(self.dataset.y)))

    def _fit_and_judge(self, model: Any, label: Any) -> Judged | None:
        """Fit the model to the rows that are not held out, and judge it by those that are."""
        stratify = self.found_task.name == "classification"
        dataset = self.dataset
        if self.test_file is not None:
            test = self._read_test(self.test_file)
            self._fit(model, dataset)
            how = f"{count(test.n_rows, 'row')} of {self.test_file}"
            return Judged(how, measure(model, test, self.positive), rows=test)
        if self.n_folds is not None:
            judged = self._cross_validate(model, label, stratify=stratify)
            self._fit(model, dataset)
            return judged
        size = TEST_SIZE if self.test_size is None else self.test_size
        if size == 0.0:
            self._fit(model, dataset)
            return None
        rest, test = part_rows(dataset, size, self.seed, stratify=stratify)
        self._fit(model, rest)
        held_out = f"{count(test.n_rows, 'row')} held out"
        how = f"{held_out}; trained on the other {rest.n_rows:,}"
        return Judged(how, measure(model, test, self.positive), rows=test)

    def _read_test(self, path: Path) -> LabeledDataset:
        """Read the rows to judge by, and refuse what a model of the others could not judge."""
        expected = ExpectedColumns.of_dataset(self.dataset, self.roles.target)
        test = read_dataset(path, self.reading, self.roles, expected)
        expected.require_kinds(test.X, source_name(path))
        if self.found_task.name == "classification":
            require_classes(pd.unique(test.y), pd.unique(self.dataset.y))
        return test

    def _fit(self, model: Any, dataset: LabeledDataset) -> Any:
        self._note(f"training {type(model).__name__} on {count(dataset.n_rows, 'row')}")
        return model.fit(dataset.X, dataset.y, **fit_options(model, dataset))

    def _cross_validate(self, model: Any, label: Any, *, stratify: bool) -> Judged:
        dataset, n_folds = self.dataset, self.n_folds
        assert n_folds is not None
        options = fit_options(model, dataset)
        weights = options.pop("sample_weight", None)
        options.pop("groups", None)
        found = hr.cross_validate(
            model,
            dataset.X,
            dataset.y,
            cv=folds(n_folds, dataset, self.seed, stratify=stratify),
            groups=dataset.keep_together,
            sample_weight=weights,
            scoring=fold_scores(model, self.found_task.name, label),
            params=options,
            verbose=0 if self.quiet else 1,
        )
        how = f"{n_folds}-fold cross-validation; the model is trained on all rows"
        return Judged(how, found.mean, found.std)

    def _write(self, model: Any, judged: Judged | None, label: Any) -> str | None:
        """Write all files or none; return why there is no report, if there is none."""
        with all_or_nothing(self.out) as folder:
            model.save(folder / MODEL)
            summary = to_json(self._summary(model, judged)) + "\n"
            (folder / METRICS).write_text(summary, encoding="utf-8")
            return self._write_report(model, judged, folder / REPORT, label)

    def _write_report(
        self, model: Any, judged: Judged | None, path: Path, label: Any
    ) -> str | None:
        if self.no_report:
            return "--no-report"
        if judged is None or judged.rows is None:
            return "no rows were held out to report on"
        self._note("writing the report")
        try:
            write_report(model, judged.rows, path, self.roles.target, label)
        except ImportError as error:
            return str(error)
        return None

    def _summary(self, model: Any, judged: Judged | None) -> dict[str, Any]:
        """Return what metrics.json says: all that does not depend on the machine."""
        kind = type(model)
        defaults = {parameter.name: parameter.default for parameter in parameters_of(kind)}
        of_machine = ("n_jobs", "verbose")
        return {
            "hedgerow": hr.__version__,
            "data": {
                "file": self.data.name,
                "rows": self.dataset.n_rows,
                "features": model.n_features_in_,
            },
            "target": self.roles.target,
            "task": {"name": self.found_task.name, "why": self.found_task.why},
            "model": kind.__name__,
            "parameters": {
                name: value
                for name, value in model.get_params(deep=False).items()
                if value != defaults[name] and name not in of_machine
            },
            "seed": self.seed,
            "test": None if judged is None else judged.as_dict(),
        }

    def _answer(
        self,
        model: Any,
        judged: Judged | None,
        seconds: float,
        no_report: str | None,
        *,
        as_json: bool,
    ) -> None:
        files = [MODEL, METRICS] if no_report else [MODEL, METRICS, REPORT]
        paths = [self.out / name for name in files]
        if as_json:
            more = {"files": list(map(str, paths)), "no_report": no_report, "seconds": seconds}
            answer_json(self._summary(model, judged) | more)
            return
        task, dataset = self.found_task, self.dataset
        fields = {
            "task": f"{task.name}, {task.why}",
            "data": f"{source_name(self.data)}: {count(dataset.n_rows, 'row')}, "
            + count(model.n_features_in_, "column"),
            "model": f"{type(model).__name__}{_rounds(model)}, in {seconds:.1f} s",
            "test": "no rows were held out" if judged is None else judged.text(),
        }
        fields |= _most_important(model)
        fields["files"] = "\n".join(f"{path} ({size_of(path)})" for path in paths)
        if no_report:
            fields["files"] += f"\nno report: {no_report}"
        summarise(lines_of(fields))

    def _note(self, line: str) -> None:
        """Say what comes next to whoever watches; a log shall hold what matters only."""
        if not self.quiet and sys.stderr.isatty():
            say(line)


def _rounds(model: Any) -> str:
    """Tell how many rounds a model was boosted; other models' iterations say little."""
    rounds = getattr(model, "n_iter_", None)
    if not isinstance(rounds, int) or "n_estimators" not in model.get_params(deep=False):
        return ""
    return f" of {count(rounds, 'round')}"


def _most_important(model: Any) -> dict[str, str]:
    """Return the columns that trees used most, if it is a model of trees."""
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return {}
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(shares))])
    first = sorted(zip(shares, names, strict=True), key=lambda pair: -pair[0])[:_SHOWN_FEATURES]
    used = [f"{name} {share:.0%}" for share, name in first if share > 0]
    return {"features": ", ".join(used) or "none was of use"}
