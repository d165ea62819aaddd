"""Ctrl-C in the middle of a call."""

from levels import printed_by_another_process

PROGRAM = """
import os, signal, threading, time
{setup}

def interrupt():
    time.sleep({delay})
    while not ({when}):
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)

is_over = False
try:
    threading.Thread(target=interrupt).start()
    {call}
    is_over = True
except KeyboardInterrupt:
    assert not is_over
    print({shown})
"""


def interrupted(
    setup: str, call: str, shown: str = "True", *, delay: float = 0.3, when: str = "True"
) -> str:
    """Interrupt a call that takes hours; return what is to be shown then.

    Ctrl-C comes after a delay, so that most calls are in the midst of their work, and when a
    condition is true. How soon calls end is not looked at: one that does not heed Ctrl-C runs into
    the time limit of its test. The program runs in a process that all such programs share: its
    start takes longer than they do.
    """
    program = PROGRAM.format(setup=setup, call=call, shown=shown, delay=delay, when=when)
    return printed_by_another_process(program).strip()


INSIDE = """
from functools import partial
from itertools import starmap
from hedgerow import _native

ended = []

def watched(kernel):
    def call(*args, **named):
        # Python looks for signals between its own instructions: not before the result is kept.
        ended.extend(starmap(partial(kernel, **named), [args]))
        return ended[-1]

    return call
"""


def interrupted_inside(kernel: str, setup: str, call: str) -> bool:
    """Interrupt a call, and return whether its kernel was left before it had done its work."""
    watch = f"{INSIDE}\n_native.{kernel} = watched(_native.{kernel})\n"
    return interrupted(setup + watch, call, "ended == []") == "True"
