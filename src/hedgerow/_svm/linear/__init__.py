"""Linear machines: ½‖w‖² or ‖w‖₁ plus C times hinge or insensitive losses, on tables of any width.

The files follow a fit: a table becomes `rows`, target and weights a `problem`, which one of
`newton`, `interior_point`, `dual_descent`, `lasso` and `crammer_singer` solves; `solving` chooses.
"""

from hedgerow._svm.linear.machines import LinearSVC, LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
