"""What people are told: rows written with the event, read on the site, sent by e-mail."""
