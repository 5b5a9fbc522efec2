"""The demo season, so that a new site has something to look at."""
