"""The half of the command line that talks to a site: plain Python over its HTTP API."""
