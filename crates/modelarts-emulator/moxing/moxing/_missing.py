"""Names of MoXing that this package does not have."""


class MissingNameError(NotImplementedError, AttributeError):
    """Error for a missing name. It is an AttributeError too, so that `hasattr` returns False."""


def attribute_getter(module):
    """Returns the `__getattr__` (PEP 562) of a module."""

    def __getattr__(name):
        # Python and its tools look up names with an underscore on any object.
        if name.startswith("_"):
            raise AttributeError("module %r has no attribute %r" % (module, name))
        raise MissingNameError(
            "%s.%s is not available: the MoXing of the ModelArts emulator has only the documented"
            " functions of mox.file. Use one of those, or run this code on the service."
            % (module, name)
        )

    return __getattr__
