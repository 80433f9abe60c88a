pytest_plugins = ("pytester", "tests.support.skip_rules")
