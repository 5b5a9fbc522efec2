"""Handle the jobs of the worker, and run the process that scores runs."""
