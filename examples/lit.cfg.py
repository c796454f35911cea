# The examples are lit tests too; everything but their place is configured in test/lit/lit.cfg.py.
# ruff: noqa: F821  (lit defines config and lit_config)

import pathlib

here = pathlib.Path(__file__).resolve().parent
config.suite_name = "examples"
config.suite_root = here
lit_config.load_config(config, str(here.parent / "test" / "lit" / "lit.cfg.py"))
