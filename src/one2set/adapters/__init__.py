"""one2set in tools that people use already. Each file needs its tool, and nothing else does."""
