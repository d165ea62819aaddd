"""Every kind of model in every format: the format's own reader predicts what the model does."""

import pytest
from sklearn.base import is_classifier

import hedgerow as hr
from export.comparison import REFUSED, n_different
from export.models import (
    ALL_KINDS,
    KINDS_WITH_SCORES,
    UNSUPPORTED,
    model,
    number_of,
    numbers,
    table,
)
from export.readers import READERS


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_reader_predicts_as_the_model(kind, reader, tmp_path):
    reason = REFUSED.get((reader.name, kind))
    if reason is None:
        assert n_different(kind, reader, tmp_path)[0] == 0
    else:
        with pytest.raises(hr.ExportError, match=reason):
            n_different(kind, reader, tmp_path)


WITH_SCORES = [
    pytest.param(kind, reader, id=f"{kind}-{reader.name}")
    for kind in KINDS_WITH_SCORES
    for reader in READERS
    if reader.has_scores and (reader.name, kind) not in REFUSED
]


@pytest.mark.parametrize(("kind", "reader"), WITH_SCORES)
def test_reader_returns_the_scores_of_the_model(kind, reader, tmp_path):
    assert n_different(kind, reader, tmp_path, raw=True)[0] == 0


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_what_no_format_can_represent_is_refused_by_each(kind, tmp_path):
    estimator, reason = UNSUPPORTED[kind]
    y = number_of(table())
    estimator.fit(numbers(table()).fillna(-3.0), y > 0.8 if is_classifier(estimator) else y)
    for reader in READERS:
        with pytest.raises(hr.ExportError, match=reason):
            estimator.export(tmp_path / f"model{reader.suffix}", table="t")
    assert not any(tmp_path.iterdir())


def test_every_estimator_is_compared_or_refused():
    estimators = {name for name in hr.__all__ if hasattr(getattr(hr, name), "export")}
    compared = {type(model(kind)).__name__ for kind in ALL_KINDS}
    refused = {type(estimator).__name__ for estimator, _ in UNSUPPORTED.values()}
    assert compared | refused == estimators
