"""Every kind of model in every format: the format's own reader predicts what the model does."""

import pytest

import hedgerow as hr
from export.comparison import REFUSED, n_different
from export.models import ALL_KINDS
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
