"""First and second derivatives of a loss that is written in NumPy: `derivatives`.

`rules.py` has the derivatives of the functions that losses are made of, `dual.py` the arrays that
carry derivatives through a computation, `elementwise.py` and `array_functions.py` what NumPy does
with them.
"""

from hedgerow._autodiff import array_functions  # noqa: F401  is looked up in
from hedgerow._autodiff.dual import NotDifferentiableError
from hedgerow._autodiff.forward import Derivatives, derivatives

__all__ = ["Derivatives", "NotDifferentiableError", "derivatives"]
