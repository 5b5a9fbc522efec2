"""Pages under a phase."""
