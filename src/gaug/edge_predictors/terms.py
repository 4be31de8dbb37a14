"""Parsing a predictor: a name, or a sum such as ``gae+2*features``."""

from __future__ import annotations

import math

from gaug.edge_predictors.config import PredictorConfig
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError, unknown_name


def parse_predictor(text: str) -> dict[str, float]:
    """The terms of a sum of predictors and their weights.

    >>> parse_predictor("gae")
    {'gae': 1.0}
    >>> parse_predictor("gae+2*features")
    {'gae': 1.0, 'features': 2.0}
    """
    weights: dict[str, float] = {}
    for term in text.split("+"):
        weight, star, name = term.rpartition("*")
        name = name.strip()
        if name not in PREDICTORS:
            raise unknown_name("predictor", name, PREDICTORS)
        if name in weights:
            raise ConfigError(f"Predictor {name!r} appears twice in {text!r}.")
        try:
            weights[name] = float(weight) if star else 1.0
        except ValueError:
            raise ConfigError(
                f"The weight of predictor {name!r} must be a number, got {weight!r}."
            ) from None
        if not 0 < weights[name] < math.inf:
            raise ConfigError(
                f"The weight of predictor {name!r} must be above 0 and finite, got {weight}."
            )
    return weights


def predictor_configs(text: str) -> dict[str, PredictorConfig]:
    """The default settings of each term of a sum of predictors."""
    return {name: PREDICTORS.config_type(name)() for name in parse_predictor(text)}
