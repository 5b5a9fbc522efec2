"""Whether passages entail a claim: who decides, labels that were made before, and what follows from them.

Plain Python: labels live in files here; a site keeps them where it keeps everything else.
"""
