"""
Survival analysis: censored times
=================================

Machines that still run when the study ends have not failed *yet*: their times are censored.
Omitting them, or treating the end of the study as their failure, underestimates lifetimes.
Survival models use what is known: that they lasted at least until then.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(1)
n_rows = 2_000
X = np.column_stack([random.uniform(0.0, 1.0, n_rows), random.uniform(0.0, 1.0, n_rows)])
load, _ = X.T
years = random.weibull(2.0, n_rows) * 6.0 * np.exp(-1.5 * load)
until = random.uniform(0.5, 6.0, n_rows)  # the time of the last observation

# %%
# A negative time is censored: the machine still ran at that time.
y = np.where(years <= until, years, -until)
print(f"observed failures: {np.mean(y > 0):.0%}")
model = hr.GradientBoostingSurvival(n_estimators=60, learning_rate=0.1, max_depth=2).fit(X, y)
print(f"concordance: {model.score(X, y):.3f}")

# %%
# The survival curves of three machines; the dashed lines are the true curves. The heavier the
# load, the earlier the curve falls.
times = np.linspace(0.05, 5.5, 120)
figure, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
for level, color in ((0.1, "#0072b2"), (0.5, "#e69f00"), (0.9, "#d55e00")):
    curve = model.predict_survival_function([[level, 0.5]], times)[0]
    truth = np.exp(-((times / (6.0 * np.exp(-1.5 * level))) ** 2))
    ax.plot(times, curve, color=color, label=f"load {level}")
    ax.plot(times, truth, color=color, linestyle="--", linewidth=1.0)
ax.set(xlabel="years", ylabel="fraction still running", ylim=(0.0, 1.02))
ax.legend(frameon=False, title="dashed: true curve")

# %%
# The mean of the observed failures is far too short, because long lifetimes are more likely to be
# censored. The median that the model predicts is close to the true one.
print(f"mean of observed failures {years[years <= until].mean():.2f} years")
print(f"true mean                 {years.mean():.2f} years")
true_median = 6.0 * np.exp(-0.75) * np.log(2.0) ** 0.5
median = model.predict_quantile([[0.5, 0.5]], 0.5)[0]
print(f"median at load 0.5: predicted {median:.2f}, true {true_median:.2f} years")
