"""The shared code of the CL-Summ task types: the corpus layout, annotation lines, and
the matching of answers to citances.

Sources: Jaidka et al. 2014, The Computational Linguistics Summarization Pilot Task;
Jaidka et al. 2016-2019 for its successors. Unless a rule set differs, files are read in
the same way as in the official programs of 2017.
"""
