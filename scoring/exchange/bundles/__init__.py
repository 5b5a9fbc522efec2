"""Import competition bundles of Codabench and CodaLab. A sandboxed process reads the
bundle and drafts a season, which is a competition on the site.
"""
