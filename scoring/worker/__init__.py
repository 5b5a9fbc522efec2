"""Job handlers of the worker, and the process that scores runs."""
