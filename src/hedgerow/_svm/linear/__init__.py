"""Linear SVMs: ½‖w‖² or ‖w‖₁ plus C times hinge or insensitive losses, for tables of any width.

The modules follow a fit: a table becomes a `design_matrix`, target and weights a `problem`, which
one of `newton`, `interior_point`, `dual_descent`, `lasso` and `crammer_singer` solves;
`estimators` chooses.
"""

from hedgerow._svm.linear.estimators import LinearSVC, LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
