"""What every mind without search does alike: its settings, its choice of a move, how it is looked into.

Such a mind brings its network and what it makes of that network's outputs.
"""
