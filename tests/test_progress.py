"""Lines of progress: a sign of life soon, and few of them."""

import pytest

from hedgerow import _progress as progress


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(progress, "monotonic", lambda: Clock.now)
    return Clock


def printed(clock, capsys, total, seconds_a_round):
    with progress.progress(1, total, unit="trial round") as display:
        for done in range(1, total + 1):
            clock.now += seconds_a_round
            display.show(done)
    return [int(line.split()[2].split("/")[0]) for line in capsys.readouterr().err.splitlines()]


def test_the_first_line_does_not_wait_for_a_twentieth_of_the_rounds(clock, capsys):
    assert printed(clock, capsys, 600, 0.5)[0] == 4  # two seconds


def test_slow_rounds_are_shown_twice_a_minute(clock, capsys):
    assert printed(clock, capsys, 1000, 10.0)[:4] == [1, 4, 7, 10]


def test_fast_rounds_leave_a_short_log(clock, capsys):
    assert len(printed(clock, capsys, 1000, 0.1)) <= 22
    assert printed(clock, capsys, 1000, 0.001) == [1000]
