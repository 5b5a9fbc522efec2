"""What only reproduces the five papers: literal systems, sweeps, checks by hand and converters."""
