"""The shared code of the CL-Summ task types reads the corpus layout and annotation
lines, and matches answers to citances (citing sentences).

The source is Jaidka et al. 2014, The Computational Linguistics Summarization Pilot
Task, with Jaidka et al. 2016-2019 for the successors of the task. Unless a rule set
differs, files are read in the same way as in the official programs of 2017.
"""
