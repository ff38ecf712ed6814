"""N-gram and phrase features and scorers, learnt by counting and by small networks."""
