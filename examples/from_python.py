"""The same kind of diagram built in Python: a loop over blocks, a subsystem used twice, saved as YAML.

python examples/from_python.py
"""

from pathlib import Path

import blocksim as bs

# A chain of lags, as many as wanted: this is what a file cannot do and Python can.
chain = bs.Diagram("Five lags in a row")
chain.add("u", "Step", time=1)
before = "u"
for n in range(1, 6):
    chain.add(f"lag{n}", "FirstOrderLag", inputs=before, T=0.4)
    before = f"lag{n}"
record = bs.simulate(chain, stop=8, solver="rk4", step=0.01)

# n equal lags answer a step with 1 - exp(-t/T) sum_k (t/T)^k / k!
t = (record.t - 1).clip(0) / 0.4
expected = 1 - 2.718281828459045**-t * (1 + t + t**2 / 2 + t**3 / 6 + t**4 / 24)
print(f"five lags: off by {abs(record['lag5'] - expected).max():.1e} from the closed form")

# Settings are checked at once, in the same words as in a file.
try:
    chain.add("bad", "FirstOrderLag", inputs="u", T=0)
except bs.DiagramError as error:
    print(error)

# A diagram saves itself as YAML that loads to the same.
chain.simulate.stop, chain.simulate.solver, chain.simulate.step = 8, "rk4", 0.01
chain.save("chain.yaml")
print(Path("chain.yaml").read_text())
again = bs.simulate("chain.yaml")
print("from the file:", "the same" if (again["lag5"] == record["lag5"]).all() else "different")
