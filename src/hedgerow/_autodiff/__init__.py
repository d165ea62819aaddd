"""Forward-mode automatic differentiation of NumPy functions, up to second derivatives.

`dual.py` has the arrays that carry derivatives through a computation, and `derivatives`, the entry
point; `rules.py` the derivatives of elementary functions; `functions.py` NumPy's functions of such
arrays.
"""

from hedgerow._autodiff import functions  # noqa: F401  adds them to the tables of dual.py
from hedgerow._autodiff.dual import Derivatives, NotDifferentiableError, derivatives

__all__ = ["Derivatives", "NotDifferentiableError", "derivatives"]
