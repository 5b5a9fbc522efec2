"""From a corpus of papers to the gold of a citation task: streaming, and with every rule written down."""
