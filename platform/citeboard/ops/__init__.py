"""Tools for operating a site, with its processes, its backups, and checks that find
faults.
"""
