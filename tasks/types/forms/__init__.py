"""Forms of tasks, which are the formats of gold and runs that several tasks share."""
