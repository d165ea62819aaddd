"""How long a call goes on after Ctrl-C."""

from levels import printed_by_another_process

PROGRAM = """
import os, signal, threading, time
{setup}

sent = []

def interrupt():
    time.sleep({delay})
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0], {shown})
"""


def seconds_until_interrupted(setup: str, call: str) -> float:
    """Run a program that interrupts its call after 0.3 s, and return how much longer that took."""
    return interrupted(setup, call, "None")[0]


def interrupted(setup: str, call: str, shown: str, delay: float = 0.3) -> tuple[float, str]:
    """Interrupt a call after a delay; return how much longer it took, and what is to be shown.

    The program runs in a process that all such programs share: its start takes longer than they do.
    """
    program = PROGRAM.format(setup=setup, call=call, shown=shown, delay=delay)
    seconds, text = printed_by_another_process(program).split()
    return float(seconds), text
