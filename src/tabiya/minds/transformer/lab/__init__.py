"""The transformer's experiments: what it must be told to look ahead, and which feedback serves it.

`implicit` trains networks that differ in one thing each, at several sizes, and
has them play; `wiring` lets an evolution look for feedback. Only what trains
imports torch: playing and reporting work from the networks' files.
"""
