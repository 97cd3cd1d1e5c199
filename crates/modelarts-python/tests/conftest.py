# Tests of the plugin run pytest.
pytest_plugins = ["pytester"]
