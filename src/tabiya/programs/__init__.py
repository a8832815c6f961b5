"""Chess programs that people have already: how each of them is told of an engine.

One file per kind of settings. They turn text into text and know nothing of the
command line, of minds or of where a file lies, so that every rule about other
people's settings can be read and tested without a disk.
"""
