"""Which bandwidth does maximum likelihood choose for a random walk, and which is the best? Truth is known. One figure.

    python examples/likelihood.py

The record is that of brunot2017/three_filters. Brunot et al. (2017), 4.3: the likelihood "tends to catch all the dynamic of the
noisy signal".
"""

import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs
from blocks.smoothing.irw import IRWSmoother

warnings.simplefilter("ignore")  # the smoother itself warns where the likelihood follows the noise
bandwidths = np.geomspace(10, 1500, 23)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, constrained_layout=True)
for axis, noise in zip(axes, (0.5, 3), strict=True):
    run = bs.simulate("brunot2017/three_filters", params={"encoder.noise_std": noise})

    def error(smoother, run=run):
        return float(np.sqrt(np.mean((smoother.process(run.t, run["encoder"])[1] - run["joint.qd"])[50:-50] ** 2)))

    for order, color in ((2, "#d9601a"), (3, "#2a8f5b")):
        errors = [error(IRWSmoother(order=order, bandwidth=f)) for f in bandwidths]
        best, likely = int(np.argmin(errors)), IRWSmoother(order=order)
        chosen = error(likely)  # neither nvr nor bandwidth: maximum likelihood
        f = float(likely.result["bandwidth"][0])
        axis.loglog(bandwidths, errors, color=color, label=f"order {order}")
        axis.plot(bandwidths[best], errors[best], "o", color=color)
        axis.plot(f, chosen, "x", color=color, ms=9, mew=2)
        # The NVR is per sample: bandwidth to the power of twice the order.
        ratio = (f / bandwidths[best]) ** (2 * order)
        print(f"noise {noise} counts, order {order}: best {bandwidths[best]:.0f} Hz, {errors[best]:.2g} rad/s;", end=" ")
        print(f"by likelihood {f:.0f} Hz, {chosen:.2g} rad/s, an NVR {ratio:.3g} times the best one")
    axis.set(xlabel="half the amplitude passes at [Hz]", title=f"noise of {noise:g} counts of 1e-5 rad")
axes[0].set_ylabel("error of the speed, rms [rad/s]")
axes[0].legend(title="o best, x likelihood")
figure.savefig("brunot_likelihood.png", dpi=110)
