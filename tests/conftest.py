from hypothesis import settings

pytest_plugins = (
    "pytester",
    "tests.support.real_runs",
    "tests.support.skip_rules",
    "tests.support.tables",
)

# A busy machine makes single examples slow; pytest's own timeout bounds a test as a whole.
settings.register_profile("tracedance", deadline=None)
settings.load_profile("tracedance")
