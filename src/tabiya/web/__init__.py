"""The web page: a board in the browser for every mind at hand, served from this machine alone.

`app` ties the parts together. `guard` decides who may ask, `limits` how much,
`wishes` reads what was asked, `catalogue` names the minds, `seats` lets them
think, `game` and `rooms` hold the games, and the pages beside the board read
files that other commands wrote.
"""
