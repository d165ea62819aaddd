"""Waiting for what must come, on a machine of any speed.

Tests have no limits of their own: what never comes runs into the time limit of a test, which stands
in pyproject.toml. Only threads and processes that outlive a test have a limit here.
"""

import time

LONG = 1800  # seconds: by now it does not come


def wait_until(condition):
    """Return once something is true, as soon as that may be."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
