"""Build the wheel that contains the client and the offline scorer.

In the wheel, the modules of this repository have other package names.
"""
