"""What the worker does with a job, and the scorer's process that does it."""
