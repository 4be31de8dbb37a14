"""GAug-O: learn the edges and the classes together, with a new sampled graph in each epoch.

From the settings to a trained classifier:

- `config`: the settings;
- `edge_encoder`: the edge predictor, an auto-encoder that embeds the nodes;
- `edge_distribution`: from embeddings to the probability of an edge for each pair;
- `edge_sampling`, `all_pairs`, `drawn_pairs`, `sampled_adjacency`: differentiable graphs drawn from
  it, and `sampling_cap`, the limit of what is added to them;
- `learned_edges`: the learned probabilities, and graphs drawn from them;
- `run`: pretraining and joint training, with `warmup` and `edge_judge`;
- `method`, `classifier`: what users fit, and the fitted result;
- `edge_sampler`: the same predictor for custom training loops;
- `memory`: how much memory this takes.
"""
