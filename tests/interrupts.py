"""How long a call goes on after Ctrl-C."""

import subprocess
import sys

PROGRAM = """
import os, signal, threading, time
{setup}

sent = []

def interrupt():
    time.sleep(0.3)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
"""


def seconds_until_interrupted(setup: str, call: str) -> float:
    """Run a program that interrupts its call after 0.3 s, and return how much longer that took."""
    program = PROGRAM.format(setup=setup, call=call)
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return float(run.stdout)
