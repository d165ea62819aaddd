"""Long checks of what the library withstands; their figures stand in docs/reliability.md.

A check is a module of this package with a `GOAL`, one sentence, and a function `run(share)` that
does `share` times the published amount of work and returns an `Outcome`. ``python -m soak`` runs
them; ``make soak`` runs all of them at full size, which takes hours.
"""
