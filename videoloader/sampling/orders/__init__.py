"""Orders of samples: permutations, shards, epochs, weights; all of it arithmetic."""
