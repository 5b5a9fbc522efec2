"""Forms of tasks: what gold and runs look like, whether Python or a folder declares the task."""
