"""Operation of a site with its processes, backups, and checks that find faults."""
