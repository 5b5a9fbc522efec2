"""Export boards and data sets in standard formats."""
