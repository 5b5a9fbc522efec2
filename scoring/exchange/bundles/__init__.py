"""Import bundles of Codabench and CodaLab. A confined process reads the bundle and
drafts a season.
"""
