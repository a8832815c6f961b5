"""What the experiments of all minds have in common: a folder, its games, its exams, its standings.

An experiment trains several networks that differ in one thing each (stage
`train`), has them play and answer questions (`play`), and tells the outcome
(`report`). Which networks, and how they are trained, is each mind's own.
"""
