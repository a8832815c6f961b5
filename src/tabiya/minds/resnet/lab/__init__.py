"""The ResNet's experiments: several networks trained with equal budgets, then played against each other.

`plan` is what a config says, `variants` what is compared, `stages` the work
itself in a folder that can be left and taken up again at any point.
"""
