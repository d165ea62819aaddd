"""Units of gradients: no field of a sum overflows, whatever the gradients and the row count."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import _native
from hedgerow.cluster import run_threads

PACKED_FROM = 32_768

# Numbers of rows near powers of two, where fields change their width.
row_counts = st.one_of(
    st.integers(1, _native.most_rows),
    st.builds(
        lambda e, d: min(max(2**e + d, 1), _native.most_rows),
        st.integers(0, 30),
        st.integers(-2, 2),
    ),
)


@st.composite
def gradients(draw, row_counts=row_counts):
    """Numbers of n rows: n, the largest, how many rows have it, and what the other rows have."""
    n = draw(row_counts)
    largest = draw(st.floats(1e-25, 1e25))
    n_largest = draw(st.one_of(st.integers(1, n), st.just(n), st.just(1)))
    other = draw(st.one_of(st.floats(0.0, 1.0), st.just(0.0), st.just(1e-30))) * largest
    return n, largest, n_largest, other


def summary_of(n, largest, n_largest, other):
    total = largest * n_largest + other * (n - n_largest)
    smallest = largest if n_largest == n else other
    return _native.GradientSummary(largest, total, largest, total, smallest)


@pytest.mark.parametrize("packed", [False, True])
@given(rows=gradients())
@example(rows=(70_000_000, 0.25, 35_000_000, 0.2))
@example(rows=(33_554_432, 1.0, 33_554_431, 0.999))
@example(rows=(_native.most_rows, 1.0, _native.most_rows - 1, 0.999))
@example(rows=(_native.most_rows, 1.0, _native.most_rows // 50, 1e-12))
def test_no_sum_overflows_its_field(packed, rows):
    n, largest, n_largest, other = rows
    summary = summary_of(*rows)
    fixed = summary.units(n, packed and summary.fits_packed(n))
    g_largest, h_largest = fixed.steps(largest, largest)
    g_other, h_other = fixed.steps(-other, other)
    assert n < 2 ** (64 - fixed.count_shift)
    assert h_largest * n_largest + h_other * (n - n_largest) < 2**fixed.count_shift
    assert abs(g_largest) * n_largest + abs(g_other) * (n - n_largest) < 2**63


@given(rows=gradients(st.integers(PACKED_FROM, 2**25 - 1)))
@example(rows=(2**25 - 1, 1.0, 2**25 - 2, 0.999))
def test_packed_rows_keep_13_bits_up_to_33_million_rows(rows):
    n, largest, n_largest, other = rows
    has_equal_h = n_largest == n or other == largest
    steps = 1 if has_equal_h else 8191
    assert summary_of(*rows).units(n, True).h_unit == largest / steps


@pytest.mark.parametrize("bits", range(25, 31))
def test_the_mean_hessian_keeps_the_steps_that_the_limit_promises(bits):
    n = 2**bits - 1
    fixed = summary_of(n, 1.0, n // 2, 0.98).units(n, True)
    promised = min(8191, 2 ** (64 - 2 * bits) - 2)
    assert 0.99 / fixed.h_unit >= 0.99 * promised * (1 - 1e-5)


@given(rows=gradients(), wide=st.booleans())
@example(rows=(2**29, 1.0, 2**29 - 1, 0.999), wide=False)
@example(rows=(2**30 - 1, 1.0, 2**30 - 2, 0.999), wide=False)
def test_no_sum_of_all_outputs_overflows(rows, wide):
    n, largest, n_largest, other = rows
    total = largest * n_largest + other * (n - n_largest)
    summary = summary_of(*rows)
    assume(wide or summary.fits_one_word(n))
    unit = _native.vector_unit(total, n, wide)
    assert unit > 0.0
    steps = [max(np.floor(one / unit * (1 + 2**-23) + 0.5), 1.0) for one in (largest, other)]
    assert steps[0] * n_largest + steps[1] * (n - n_largest) < (2**63 if wide else 2**31)


def test_one_word_is_never_used_where_it_has_no_room():
    summary = _native.GradientSummary(1.0, 2.0**30, 1.0, 2.0**30, 1.0)
    assert summary.fits_one_word(2**28)
    assert not summary.fits_one_word(2**29)


@pytest.mark.parametrize("vector", [False, True])
def test_a_part_of_the_rows_has_the_units_of_all(vector):
    """Workers that have some of the rows each quantise as one that has them all."""
    rng = np.random.default_rng(0)
    n, ends = 65_000, [0, 24_001, 24_001, 65_000]
    g, h = rng.normal(size=(2, n)), rng.random((2, n))
    whole = _native.GradientStore(n, 2, 1, vector)
    whole.take(g, h)

    def work(communicator):
        rows = slice(ends[communicator.rank], ends[communicator.rank + 1])
        part = [np.ascontiguousarray(a[:, rows]) for a in (g, h)]
        store = _native.GradientStore(part[0].shape[1], 2, 1, vector, n, communicator)
        store.take(*part)
        for k in range(2):
            np.testing.assert_array_equal(store.to_float(k), whole.to_float(k)[rows])

    run_threads(work, 3)


def test_an_error_of_the_communicator_is_raised():
    class Lost:
        rank, size = 0, 2

        def gather(self, part):
            del part
            raise RuntimeError("lost")

    store = _native.GradientStore(2, 1, 1, communicator=Lost())
    with pytest.raises(RuntimeError, match="lost"):
        store.take(np.ones((1, 2)), np.ones((1, 2)))


@pytest.mark.parametrize("n_rows", [2**32, 2**33])
def test_more_rows_than_can_be_numbered_are_refused(n_rows):
    X = np.broadcast_to(np.float32(0.0), (n_rows, 1))
    with pytest.raises(hr.DataError, match=f"X has {n_rows:,} rows, but .* 4,294,967,295"):
        hr.RandomForestClassifier().fit(X, X)


def test_more_rows_than_sums_have_room_for_are_refused():
    X = np.broadcast_to(np.uint8(0), (2**30, 1))
    with pytest.raises(hr.DataError, match=r"X has 1,073,741,824 rows, but .* 1,073,741,823"):
        hr.GradientBoostingClassifier().fit(X, X)
