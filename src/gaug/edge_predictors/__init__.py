"""Edge predictors: which pairs of nodes should be joined?"""
