"""GAug-O: learn the edges and the classes together, through a new sampled graph each epoch.

From the settings to a trained classifier:

- `config`: the settings;
- `edge_encoder`: the edge predictor, an auto-encoder that embeds the nodes;
- `edge_distribution`: from embeddings to the probability of an edge for each pair;
- `edge_sampling`, `all_pairs`, `sampled_adjacency`: graphs drawn from it that carry gradient;
- `learned_edges`: probabilities and graphs to ask for;
- `run`: pretraining and joint training, with `warmup` and `edge_judge`;
- `method`, `classifier`: what a user fits, and what that gives;
- `edge_sampler`: the same predictor in a training loop of one's own;
- `memory`: what all this takes.
"""
