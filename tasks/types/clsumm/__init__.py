"""The shared code of the CL-Summ task types reads the corpus layout and annotation
lines, and matches answers to citances (citing sentences).

The sources are the papers of Jaidka and others on The Computational Linguistics
Summarization Pilot Task (2014) and on its successors (2016-2019). Unless a rule set
differs, files are read in the same way as in the official programs of 2017.
"""
