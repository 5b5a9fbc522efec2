"""Operation of a site: its processes, backups, and checks that find faults."""
