"""A team's place in a season."""
