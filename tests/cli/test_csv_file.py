"""CSV files: pandas is the oracle where it reads the same, and what is written elsewhere."""

import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import make_people
from hedgerow._cli.csv_file import MISSING_TEXTS, read_csv
from hedgerow.exceptions import DataError


def unknown(name):
    return None


# A gap among strings is None here and NaN there before pandas 3.
pytestmark = pytest.mark.filterwarnings("ignore:Mismatched null-like values:FutureWarning")


@pytest.fixture
def read(tmp_path):
    def read_text(text, kinds=unknown, name="table.csv"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return read_csv(path, kinds)

    return read_text


def test_a_table_of_all_kinds_is_what_pandas_reads(read):
    text = make_people().to_csv(index=False)
    expected = pd.read_csv(io.StringIO(text), float_precision="round_trip")
    pd.testing.assert_frame_equal(read(text), expected)


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_float_comes_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("floats") / "floats.csv"
    pd.DataFrame({"x": values, "one": 1}).to_csv(path, index=False)
    assert read_csv(path, unknown)["x"].to_numpy(np.float64).tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfa,b\n1,x\n2,y\n",
        b"a;b\r\n1;x\r\n2;y\r\n",
        b"a\tb\n1\tx\n2\ty",
        b"a|b\n1|x\n2|y\n",
        b'"a","b"\n"1","x"\n"2","y"\n',
        b"a,b\n1,x\n\n2,y\n\n",
        b"a,b\n 1,x\n2 ,y\n",
        b"a,b\n+1,x\n2,y\n",
    ],
)
def test_the_same_table_in_any_dialect(read, text):
    expected = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    pd.testing.assert_frame_equal(read(text), expected)


def test_names_and_fields_may_hold_delimiters_quotes_and_line_ends(read):
    frame = read('"a, b; c;";"line\nend"\n"x;y";"say ""hi"""\n')
    assert list(frame.columns) == ["a, b; c;", "line\nend"]
    assert frame.iloc[0].tolist() == ["x;y", 'say "hi"']


def test_packed_files_are_unpacked(read):
    assert read("a,b\n1,2\n", name="t.csv.gz").to_dict("list") == {"a": [1], "b": [2]}


def test_commas_are_decimal_where_semicolons_part_fields(read):
    frame = read("a;b\n1,5;2\n-0,25;3\n")
    assert frame["a"].tolist() == [1.5, -0.25]
    assert frame["b"].tolist() == [2, 3]


@pytest.mark.parametrize("gap", MISSING_TEXTS)
def test_gaps_are_those_of_pandas(read, gap):
    text = f"x,t\n1,{gap}\n{gap},a\n"
    pd.testing.assert_frame_equal(read(text), pd.read_csv(io.StringIO(text)))


def test_a_column_of_gaps_is_of_numbers(read):
    assert read("a,b\n,1\n,2\n")["a"].dtype == np.float64


def test_blank_fields_among_numbers_are_gaps(read):
    assert np.isnan(read("a,b\n  ,1\n3,2\n")["a"][0])


@pytest.mark.parametrize("flags", [("true", "false"), ("TRUE", "False")])
def test_true_and_false_are_flags(read, flags):
    frame = read("flag,x\n{},1\n{},2\n".format(*flags))
    assert frame["flag"].dtype == bool
    assert frame["flag"].tolist() == [True, False]


def test_numbers_with_leading_zeros_are_text(read):
    with pytest.warns(UserWarning, match="'zip' has numbers with leading zeros"):
        assert read("zip,x\n01234,0.5\n99999,0\n")["zip"].tolist() == ["01234", "99999"]


def test_dates_are_text_and_a_warning(read):
    with pytest.warns(UserWarning, match="'day' has dates"):
        assert read("day,x\n2024-01-31,1\n2024-02-01,2\n")["day"][0] == "2024-01-31"


def test_what_is_known_of_a_column_decides(read):
    kinds = {"code": "text", "number": "number", "empty": "number"}.get
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read("code,number,empty\n7,007,\n8,1e3,\n", kinds)
    assert frame["code"].tolist() == ["7", "8"]
    assert frame["number"].tolist() == [7.0, 1000.0]
    assert frame["empty"].isna().all()


def test_a_column_without_a_name_is_named_as_pandas_does(read):
    assert list(read(",a\n0,1\n").columns) == list(pd.read_csv(io.StringIO(",a\n0,1\n")).columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b\n", "no rows"),
        (b"\n\n", "is empty"),
        (b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
        (b"a,a\n1,2\n", "more than one column named 'a'"),
        (b"a,b\n\xff\xfe,2\n", "UTF"),
        (b"\xff\xfea\x00", "UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text)


def test_what_is_not_packed_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="is not a CSV file"):
        read_csv(path, unknown)
