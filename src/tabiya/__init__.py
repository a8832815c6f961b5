"""Tabiya: a laboratory of chess minds."""

from tabiya._core import __version__

__all__ = ["__version__"]
