"""Sites of earlier releases, and what they showed: they are upgraded and must show the same."""
