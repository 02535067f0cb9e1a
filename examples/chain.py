"""Three identifiers in a row find all ten parameters of a flexible robot: python examples/chain.py

The diagram is thesis/chain. Each block starts where the one before it ended, by its name: {Jm: response}, {k1: cloe}.
"""

import blocksim as bs

# Four seconds are enough to see it; the diagram itself takes eight.
record = bs.simulate("thesis/chain", stop=4)
response, cloe, hybrid = (record.estimates[name] for name in ("response", "cloe", "hybrid"))

# A linear robot fitted to the response is a rough start: the gear has play, hysteresis and a cubic spring.
print("      start of cloe   cloe   hybrid   std of hybrid   (all but the first column: error in %)")
for name, last in hybrid.items():
    first = 100 * (cloe[name].start / cloe[name].truth - 1)
    errors = (100 * estimates[name].relative_error for estimates in (cloe, hybrid))
    print(f"{name:6}{first:+12.0f} %" + "".join(f"{e:+9.3f}" for e in errors) + f"{100 * last.relative_std:12.3f}")

# (x - truth)' P^-1 (x - truth) is 10 on average where the standard deviations are honest.
print(f"nees {hybrid.nees:.1f} of 10 parameters; {hybrid.reason}")
