"""What tests of several folders share. pytest and pyright find it through ``test/py`` (see pyproject.toml)."""
