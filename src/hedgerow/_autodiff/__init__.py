"""Forward-mode automatic differentiation of NumPy functions, up to second derivatives.

`rules.py` has the derivatives of elementary functions, `dual.py` the arrays that carry derivatives
through a computation, `elementwise.py` and `array_functions.py` NumPy's functions for these arrays,
and `forward.py` the entry point, `derivatives`.
"""

from hedgerow._autodiff import array_functions  # noqa: F401  registers its functions
from hedgerow._autodiff.dual import NotDifferentiableError
from hedgerow._autodiff.forward import Derivatives, derivatives

__all__ = ["Derivatives", "NotDifferentiableError", "derivatives"]
