"""What sentences do in a text: splitting, tagging, shares of labels and how far two of these are apart.

Plain Python, after CiteBench (Funkquist et al. 2023, section 5 and its notebook on citation classification).
"""
