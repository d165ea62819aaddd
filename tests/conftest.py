"""What all tests share: their order, and signals as an interactive shell leaves them."""

import signal
import threading

# A shell starts background jobs with SIGINT ignored, nohup a command with SIGHUP ignored. Children
# inherit both, and Python then has no KeyboardInterrupt. Tests of signals need them, here and in
# the processes that they start.
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
if threading.current_thread() is threading.main_thread():
    for _number, _usual in _USUAL.items():
        if signal.getsignal(_number) is signal.SIG_IGN:
            signal.signal(_number, _usual)


def pytest_collection_modifyitems(items):
    """Begin with slow tests, so that at the end no process of the suite waits for another's."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
