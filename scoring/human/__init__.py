"""Run human evaluations, in which people rate texts without knowing which system wrote
the texts.
"""
