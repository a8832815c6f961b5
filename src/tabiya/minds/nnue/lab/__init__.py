"""The NNUE's experiments: networks that differ in what they see, how large they are or how they are taught.

`plan` is what a config says, `variants` what is compared, `train`, `play` and
`report` the work itself, in a folder that can be left and taken up again at
any point.
"""
