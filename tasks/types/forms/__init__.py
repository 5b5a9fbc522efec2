"""Task forms, such as classification or ranking, each with one format of gold and runs
for many tasks.
"""
