"""MoXing Framework, of which the emulator has `file`."""

from moxing._missing import attribute_getter
from moxing.framework import file

__getattr__ = attribute_getter(__name__)
