"""
Survival curves: times that are not known yet
=============================================

Machines that still run when the study ends have not failed *yet*. To leave them out, or to take
the end of the study for their failure, makes lives look shorter than they are. Survival models
use what is known of them: they lasted at least so long.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(1)
n_rows = 2_000
X = np.column_stack([random.uniform(0.0, 1.0, n_rows), random.uniform(0.0, 1.0, n_rows)])
load, _ = X.T
years = random.weibull(2.0, n_rows) * 6.0 * np.exp(-1.5 * load)
until = random.uniform(0.5, 6.0, n_rows)  # when a machine was looked at for the last time

# %%
# A negative time says "not before": the machine still ran then.
y = np.where(years <= until, years, -until)
print(f"failures seen: {np.mean(y > 0):.0%}")
model = hr.GradientBoostingSurvival(n_estimators=60, learning_rate=0.1, max_depth=2).fit(X, y)
print(f"concordance: {model.score(X, y):.3f}")

# %%
# Curves of three machines; dashed lines are the truth that the data were made by. The heavier the
# load, the earlier the curve falls.
times = np.linspace(0.05, 5.5, 120)
figure, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
for level, color in ((0.1, "#0072b2"), (0.5, "#e69f00"), (0.9, "#d55e00")):
    curve = model.predict_survival_function([[level, 0.5]], times)[0]
    truth = np.exp(-((times / (6.0 * np.exp(-1.5 * level))) ** 2))
    ax.plot(times, curve, color=color, label=f"load {level}")
    ax.plot(times, truth, color=color, linestyle="--", linewidth=1.0)
ax.set(xlabel="years", ylabel="share of machines that still run", ylim=(0.0, 1.02))
ax.legend(frameon=False, title="dashed: the truth")

# %%
# The mean of the failures that were seen is far too short: long lives are the ones that the study's
# end cuts off. The model's medians are near the true ones.
print(f"mean of failures seen  {years[years <= until].mean():.2f} years")
print(f"true mean              {years.mean():.2f} years")
true_median = 6.0 * np.exp(-0.75) * np.log(2.0) ** 0.5
median = model.predict_quantile([[0.5, 0.5]], 0.5)[0]
print(f"median at load 0.5: predicted {median:.2f}, true {true_median:.2f} years")
