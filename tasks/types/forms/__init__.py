"""Forms of tasks: the formats of gold and runs that several tasks share."""
