"""The invented part of the demo season: papers, citations, gold and runs, the same each time."""
