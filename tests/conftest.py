"""What all tests share: signals as an interactive shell leaves them."""

import signal
import threading

# A shell starts background jobs with SIGINT ignored, which their children inherit, and Python then
# has no KeyboardInterrupt. Tests of Ctrl-C need it, here and in the processes that they start.
_is_main = threading.current_thread() is threading.main_thread()
if _is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
