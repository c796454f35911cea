# The stubs shipped with the package are wrong or absent; its names are untyped here.
from _typeshed import Incomplete

def __getattr__(name: str) -> Incomplete: ...
