"""The only readers of TOML and JSON from outside: each refuses a text beyond its limits. That of YAML, which
the wheel does not read, is `tasks.submissions.yaml_reader`.

No other module calls the parsers themselves on such a text; tests/core/test_guarded_readers.py lists what is
read without these limits, with the reason.
"""
