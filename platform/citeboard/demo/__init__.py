"""The demo seasons, which give a new site some content."""
