"""What the experiments of all minds have in common: a plan, a folder, games, exams, standings, a record.

An experiment trains several networks that differ in one thing each (stage
`train`), has them play and answer questions (`play`), and tells the outcome
(`report`). Which networks, and how they are trained, is each mind's own.
"""
