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
from hedgerow._cli import output
from hedgerow._cli.choices import METRICS, MODEL, REPORT, TEST_SIZE
from hedgerow._cli.dataset import ExpectedColumns, LabeledDataset, Roles, read_dataset
from hedgerow._cli.evaluate import write_report
from hedgerow._cli.holdout import folds, split_rows
from hedgerow._cli.models import (
    TaskChoice,
    find_family,
    find_task,
    fit_options,
    has_numeric_target,
    new_model,
    require_task,
)
from hedgerow._cli.options import DataFiles, Reading, source_name
from hedgerow._cli.scores import fold_scores, measure, positive_class, require_classes
from hedgerow._params import check_parameters, parameters_of
from hedgerow._validation import CrossValidation
from hedgerow.exceptions import ParameterError

_ROUNDS_PER_LINE = 100  # of progress, if there is no terminal for a bar
_TOP_FEATURES = 5
_ROLES = ("target", "event", "qid", "weights", "groups", "offset", "drop_missing_target")


def train(as_json: bool, **options: Any) -> None:
    """Train a model and write the files; the options are the fields of `Training`."""
    is_numeric = has_numeric_target(options["task"], options["event"], options["qid"])
    options["roles"] = Roles(
        **{name: options.pop(name) for name in _ROLES},
        target_kind="number" if is_numeric else "any",
        drop=tuple(name.strip() for name in options.pop("drop").split(",") if name.strip()),
    )
    Training(**options).run(as_json=as_json)


@dataclass(frozen=True)
class Evaluation:
    """The metrics of a model, and their rows: a test set, or all rows and a cross-validation."""

    how: str
    metrics: Mapping[str, float]
    test_set: LabeledDataset
    spread: Mapping[str, float] | None = None
    cross_validation: CrossValidation | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of metrics.json."""
        fields: dict[str, Any] = {"how": self.how, "metrics": dict(self.metrics)}
        if self.spread is not None:
            fields["standard_deviation"] = dict(self.spread)
        return fields

    def text(self) -> str:
        """Return the lines to print."""
        width = max(map(len, self.metrics), default=0)
        return "\n".join(
            [self.how, *(f"{name:<{width}}  {self._value(name)}" for name in self.metrics)]
        )

    def _value(self, name: str) -> str:
        value = self.metrics[name]
        if self.spread is None:
            return output.number(value)
        if not math.isfinite(value):
            return "– (undefined in some folds)"
        return f"{output.number(value)} ± {output.number(self.spread[name])}"


@dataclass(frozen=True, kw_only=True)
class Training:
    """A run of the command, step by step; its fields are the options."""

    data: DataFiles
    roles: Roles
    reading: Reading
    positive: str | None
    task: str | None
    family: str
    assignments: tuple[str, ...]
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
        """Train, evaluate, write the files and print a summary."""
        self._check()
        model = self.new_model
        check_parameters(model)
        self._note(f"task: {self.task_choice.name}, {self.task_choice.why}")
        label = self._positive_label(model)
        started = time.perf_counter()
        evaluation = self._fit_and_evaluate(model, label)
        seconds = time.perf_counter() - started
        if self.reading.na:
            model.na_values_ = list(self.reading.na)  # which the model file stores
        if label is not None:
            model.positive_class_ = label  # likewise
        report_note = self._write(model, evaluation, label)
        self._answer(model, evaluation, seconds, report_note, as_json=as_json)

    def _check(self) -> None:
        """Refuse invalid options before anything is read."""
        family = find_family(self.family)
        require_task(family, self.task)
        if family != "gradient_boosting" and self.budget is not None:
            raise ParameterError(f"--budget is for gradient_boosting, not for {self.family}.")
        methods = {"--test": self.test_file, "--test-size": self.test_size, "--cv": self.n_folds}
        options = [name for name, value in methods.items() if value is not None]
        if len(options) > 1:
            raise ParameterError(f"{' and '.join(options)} cannot be combined: choose one.")
        output.require_folder(self.out)
        for name in (MODEL, METRICS, REPORT):
            if (self.out / name).is_dir():
                raise ParameterError(f"cannot write {self.out / name}: it is a folder.")
        names = (MODEL, METRICS) if self.no_report else (MODEL, METRICS, REPORT)
        output.require_other_files((self.out / name for name in names), self.data, self.test_file)

    @cached_property
    def dataset(self) -> LabeledDataset:
        """All rows of the file."""
        self._note(f"reading {source_name(self.data)}")
        return read_dataset(self.data, self.reading, self.roles)

    @cached_property
    def task_choice(self) -> TaskChoice:
        """The task, given or inferred."""
        return find_task(self.task, self.dataset, self.roles)

    @property
    def new_model(self) -> Any:
        """The model, not yet fitted."""
        budget = () if self.budget is None else (f"budget={self.budget}",)
        verbose = 0 if self.quiet else 1 if sys.stderr.isatty() else _ROUNDS_PER_LINE
        common = {"random_state": self.seed, "n_jobs": self.threads, "verbose": verbose}
        assignments = (*budget, *self.assignments)
        return new_model(find_family(self.family), self.task_choice, assignments, common)

    def _positive_label(self, model: Any) -> Any:
        """Return the positive class, or None."""
        if self.positive is None:
            return None
        return positive_class(self.positive, model, np.asarray(pd.unique(self.dataset.y)))

    def _fit_and_evaluate(self, model: Any, label: Any) -> Evaluation | None:
        """Fit the model to the training set and evaluate it on the test set, if there is one."""
        stratify = self.task_choice.name == "classification"
        dataset = self.dataset
        if self.test_file is not None:
            test = self._load_test_set(self.test_file)
            self._fit(model, dataset)
            how = f"{output.count(test.n_rows, 'row')} of {self.test_file}"
            return Evaluation(how, measure(model, test, self.positive), test)
        if self.n_folds is not None:
            evaluation = self._cross_validate(model, label, stratify=stratify)
            self._fit(model, dataset)
            return evaluation
        size = TEST_SIZE if self.test_size is None else self.test_size
        if size == 0.0:
            self._fit(model, dataset)
            return None
        training, test = split_rows(dataset, size, self.seed, stratify=stratify)
        self._fit(model, training)
        rows = output.count(test.n_rows, "row")
        how = f"{rows} of the file; trained on the other {training.n_rows:,}"
        return Evaluation(how, measure(model, test, self.positive), test)

    def _load_test_set(self, path: Path) -> LabeledDataset:
        """Read the test set; refuse columns or classes that the training set does not have."""
        expected = ExpectedColumns.of_dataset(self.dataset, self.roles.target)
        test = read_dataset(path, self.reading, self.roles, expected)
        expected.require_kinds(test.X, source_name(path))
        if self.task_choice.name == "classification":
            require_classes(pd.unique(test.y), pd.unique(self.dataset.y))
        return test

    def _fit(self, model: Any, dataset: LabeledDataset) -> Any:
        self._note(f"training {type(model).__name__} on {output.count(dataset.n_rows, 'row')}")
        return model.fit(dataset.X, dataset.y, **fit_options(model, dataset))

    def _cross_validate(self, model: Any, label: Any, *, stratify: bool) -> Evaluation:
        dataset, n_folds = self.dataset, self.n_folds
        assert n_folds is not None
        options = fit_options(model, dataset)
        weights, offset = options.pop("sample_weight", None), options.pop("offset", None)
        options.pop("groups", None)
        scores = hr.cross_validate(
            model,
            dataset.X,
            dataset.y,
            cv=folds(n_folds, dataset, self.seed, stratify=stratify),
            groups=dataset.keep_together,
            sample_weight=weights,
            offset=offset,
            scoring=fold_scores(model, self.task_choice.name, label),
            params=options,
            verbose=0 if self.quiet else 1,
        )
        how = f"{n_folds}-fold cross-validation; the final model is trained on all rows"
        return Evaluation(how, scores.mean, dataset, scores.std, scores)

    def _write(self, model: Any, evaluation: Evaluation | None, label: Any) -> str | None:
        """Write all files or none; return the reason if there is no report."""
        with output.all_or_nothing(self.out) as folder:
            model.save(folder / MODEL)
            summary = output.to_json(self._summary(model, evaluation)) + "\n"
            (folder / METRICS).write_text(summary, encoding="utf-8")
            return self._write_report(model, evaluation, folder / REPORT, label)

    def _write_report(
        self, model: Any, evaluation: Evaluation | None, path: Path, label: Any
    ) -> str | None:
        if self.no_report:
            return "--no-report"
        if evaluation is None:
            return "there is no test set to report on"
        test_set, cross_validation = evaluation.test_set, evaluation.cross_validation
        if cross_validation is not None and isinstance(test_set.X, hr.ParquetTable):
            return "out-of-fold predictions are reported on for tables in memory"
        self._note("writing the report")
        try:
            target = self.roles.target
            write_report(model, test_set, path, target, label, cross_validation)
        except ImportError as error:
            return str(error)
        return None

    def _summary(self, model: Any, evaluation: Evaluation | None) -> dict[str, Any]:
        """Return the content of metrics.json, which does not depend on the machine."""
        kind = type(model)
        defaults = {parameter.name: parameter.default for parameter in parameters_of(kind)}
        return {
            "hedgerow": hr.__version__,
            "data": {
                "file": self.data.name,
                "rows": self.dataset.n_rows,
                "features": model.n_features_in_,
            },
            "target": self.roles.target,
            "task": {"name": self.task_choice.name, "why": self.task_choice.why},
            "model": kind.__name__,
            "parameters": {
                name: value
                for name, value in model.get_params(deep=False).items()
                if value != defaults[name] and name not in ("n_jobs", "verbose")
            },
            "seed": self.seed,
            "test": None if evaluation is None else evaluation.as_dict(),
        }

    def _answer(
        self,
        model: Any,
        evaluation: Evaluation | None,
        seconds: float,
        no_report: str | None,
        *,
        as_json: bool,
    ) -> None:
        files = [MODEL, METRICS] if no_report else [MODEL, METRICS, REPORT]
        paths = [self.out / name for name in files]
        if as_json:
            more = {"files": list(map(str, paths)), "no_report": no_report, "seconds": seconds}
            output.answer_json(self._summary(model, evaluation) | more)
            return
        task, dataset = self.task_choice, self.dataset
        fields = {
            "task": f"{task.name}, {task.why}",
            "data": f"{source_name(self.data)}: {output.count(dataset.n_rows, 'row')}, "
            + output.count(model.n_features_in_, "column"),
            "model": f"{type(model).__name__}{_rounds(model)}, in {seconds:.1f} s",
            "test": "no test set" if evaluation is None else evaluation.text(),
        }
        fields |= _most_important(model)
        fields["files"] = "\n".join(f"{path} ({output.size_of(path)})" for path in paths)
        if no_report:
            fields["files"] += f"\nno report: {no_report}"
        output.summarise(output.lines_of(fields))

    def _note(self, line: str) -> None:
        """Print progress on a terminal; logs only get the summary."""
        if not self.quiet and sys.stderr.isatty():
            output.say(line)


def _rounds(model: Any) -> str:
    """Return the number of boosting rounds as text; empty for models without rounds."""
    rounds = getattr(model, "n_iter_", None)
    if not isinstance(rounds, int) or "n_estimators" not in model.get_params(deep=False):
        return ""
    return f" of {output.count(rounds, 'round')}"


def _most_important(model: Any) -> dict[str, str]:
    """Return the most important features of a tree model."""
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return {}
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(shares))])
    first = sorted(zip(shares, names, strict=True), key=lambda pair: -pair[0])[:_TOP_FEATURES]
    used = [f"{name} {share:.0%}" for share, name in first if share > 0]
    return {"features": ", ".join(used) or "no feature was used"}
