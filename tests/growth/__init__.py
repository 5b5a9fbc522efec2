"""What hostile input costs, over everything that reads what strangers wrote.

Twice the input may not cost more than ``measuring.MAX_RATIO`` times the CPU, and memory stays in proportion.
`python -m tests.growth` measures larger inputs and prints the worst ratios.
"""
