"""Candidates of a text, generated and proposed: features, counts and small networks."""
