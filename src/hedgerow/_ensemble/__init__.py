"""An ensemble of different kinds of models: boosted trees, forests, kernel machines, neighbours.

A fit reads the data (`training_set.py`), lists the models to try (`candidates.py`), fits each to
the folds of a cross-validation (`cross_fitting.py`), and selects those whose weighted mean has the
smallest loss out of fold (`selection.py`). `encoding.py` turns a table into the matrix of numbers
that kernel machines and neighbours need.
"""

from hedgerow._ensemble.estimators import EnsembleClassifier, EnsembleRegressor

__all__ = ["EnsembleClassifier", "EnsembleRegressor"]
