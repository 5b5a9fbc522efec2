"""Job handlers of the worker, and the scorer's process."""
