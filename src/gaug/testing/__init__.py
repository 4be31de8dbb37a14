"""Checks for users who write a method, an edge predictor or a model.

Each check tries one of them on small generated graphs and raises an `AssertionError` that says
which promise is broken. They need no test runner:

>>> from gaug import DropEdge
>>> from gaug.testing import check_method
>>> check_method(DropEdge(drop_fraction=0.2))
"""

from gaug.testing.methods import check_method
from gaug.testing.models import check_model
from gaug.testing.predictors import check_predictor

__all__ = ["check_method", "check_model", "check_predictor"]
