"""Export boards and data in standard formats."""
