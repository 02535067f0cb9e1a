"""Three estimators that improve with every sample: joint EKF, recursive least squares, recursive prediction errors.

python examples/recursive.py writes pictures of their estimates over time, beside the truth.
"""

import blocksim as bs

# A SCARA robot at 100 Hz: the joint EKF of Gautier and Poignet (2001) with their variances, least squares beside it.
record = bs.simulate("gautier2001/ekf_case2")
bs.plot_traces(record, ["ekf", "rls"], "traces_scara.png")
print("SCARA, errors in % after 16 s")
for name, found in record.estimates["ekf"].items():
    if found.truth:
        other = record.estimates["rls"][name]
        print(f"  {name:5} EKF {100 * found.relative_error:+7.1f}   least squares {100 * other.relative_error:+6.2f}")

# The innovations say what is wrong with the EKF: their squares should be 2 on average, one for each encoder.
print(f"  mean of nis: {record['ekf.nis'][200:].mean():.4f}, so Q and R are far too large for these encoders\n")

# Friction of the two-mass robot from a slow sine: nothing but torque and noisy motor speed, started 50 % too low.
record = bs.simulate("thesis/rpem_friction")
bs.plot_traces(record, "rpem", "traces_friction.png", until=5)
print(record.estimates["rpem"])
