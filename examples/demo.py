"""A tour: gradient boosting with early stopping or default parameters, a forest, theory, a report.

Run it with `make demo`. It uses a generated table of customers with categorical features and
missing values, and three datasets of scikit-learn; results are written to ``out/``.
"""

import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hedgerow as hr

mpl.use("Agg")
import matplotlib.pyplot as plt

OUT = Path("out")


def customers(n_rows=60_000):
    """Generate customers, some of whom have churned."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "plan": rng.choice(["basic", "plus", "family", "student"], n_rows),
            "region": rng.choice([f"region {i:02}" for i in range(24)], n_rows),
            "months": rng.gamma(2.0, 12.0, n_rows).round(),
            "monthly_fee": rng.normal(30, 8, n_rows).round(2),
            "calls_to_support": rng.poisson(1.2, n_rows),
            "last_login_days": rng.exponential(9.0, n_rows).round(1),
            "age": rng.normal(42, 14, n_rows).clip(18, 95).round(),
        }
    )
    region_effect = dict(zip(sorted(table["region"].unique()), rng.normal(0, 0.6, 24), strict=True))
    score = (
        -1.6
        + 0.5 * (table["calls_to_support"] > 2)
        + 1.2 * (table["plan"].eq("basic") & (table["monthly_fee"] > 32))
        - 1.1 * (table["plan"].eq("family") & (table["months"] > 18))
        + 1.5 * np.tanh((table["last_login_days"] - 14) / 5)
        + 0.8 * np.sin(table["age"] / 9)
        + table["region"].map(region_effect)
    )
    left = score + rng.logistic(size=n_rows) > 0
    for column, fraction in (("last_login_days", 0.15), ("age", 0.1), ("plan", 0.05)):
        table.loc[rng.random(n_rows) < fraction, column] = None
    return table, np.where(left, "churned", "active")


def linear_model():
    """Return a linear baseline: imputation, one-hot encoding, scaling."""
    fill = SimpleImputer(strategy="constant", fill_value="none")
    strings = make_pipeline(fill, OneHotEncoder(handle_unknown="ignore"))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (strings, make_column_selector(dtype_exclude=np.number)),
        (numbers, make_column_selector(dtype_include=np.number)),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2_000))


def timed_fit(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def auc(model, X, y):
    return roc_auc_score(y == model.classes_[1], model.predict_proba(X)[:, 1])


def heading(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}")


def tour_of_customers():
    heading("1. Churn of 60,000 customers: categorical features and missing values")
    X, y = customers()
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    print(X.head(3).to_string(index=False))

    model = hr.GradientBoostingClassifier(
        n_estimators=500, learning_rate=0.05, early_stopping=True, random_state=0, verbose=100
    )
    seconds = timed_fit(model, X_train, y_train)
    linear = linear_model()
    linear_seconds = timed_fit(linear, X_train, y_train)
    print(
        f"boosted trees   AUC {auc(model, X_test, y_test):.4f}   {seconds:5.2f} s, "
        f"best round {model.n_iter_}"
    )
    print(f"linear model    AUC {auc(linear, X_test, y_test):.4f}   {linear_seconds:5.2f} s")
    save_and_reload(model, X_test)
    draw(model, X_test)
    return model, X_test, y_test


def save_and_reload(model, X):
    path = OUT / "customers.hedgerow"
    model.save(path)
    again = hr.load(path)
    same = np.array_equal(model.predict_proba(X), again.predict_proba(X))
    print(f"saved and reloaded ({path.stat().st_size / 1e3:.0f} kB); same predictions: {same}")
    values = pd.DataFrame([{"plan": "basic", "monthly_fee": 41.0, "last_login_days": 30.0}])
    customer = values.reindex(columns=X.columns)  # the other columns are missing values
    probability = again.predict_proba(customer).max()
    print(f"a new customer: {again.predict(customer)[0]}, with probability {probability:.2f}")


def draw(model, X):
    """Draw the learning curve, and how the rounds build one prediction, feature by feature."""
    row = int(np.argsort(-model.predict_proba(X)[:, 1])[len(X) // 100])  # likely to churn
    figure, (left, right) = plt.subplots(
        *(1, 2), figsize=(12, 4.2), layout="constrained", width_ratios=[2, 3]
    )
    hr.plot.LearningCurveDisplay.from_estimator(model, ax=left)
    hr.plot.StagedShapDisplay.from_estimator(model, X, row=row, ax=right)
    left.set_title("Early stopping on a validation set", loc="left", fontsize="medium")
    figure.savefig(OUT / "customers.png", dpi=130)


def tour_of_digits():
    heading("2. Handwritten digits: ten classes, real data, five folds")
    X, y = load_digits(return_X_y=True)
    # Adjacent pixels are correlated: a random fifth of them at each split is more accurate.
    boosted = hr.GradientBoostingClassifier(n_estimators=150, colsample_bynode=0.2, random_state=0)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, model in (("boosted trees", boosted), ("linear model", linear)):
        start = time.perf_counter()
        accuracy = cross_val_score(model, X, y, cv=folds).mean()
        print(f"{name:15} accuracy {accuracy:.4f}   {time.perf_counter() - start:5.2f} s")


def tour_of_patients():
    heading("3. Diabetes in 442 patients: default parameters, five folds, prediction intervals")
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)
    for n_estimators in ("auto", 100):
        model = hr.GradientBoostingRegressor(n_estimators=n_estimators)
        rmse = hr.cross_validate(model, X, y, cv=folds).scores["rmse"]
        print(f"n_estimators={n_estimators!r:6}   RMSE {rmse.mean():.2f} ± {rmse.std():.2f}")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = hr.GradientBoostingRegressor(calibration="conformal").fit(X_train, y_train)
    print(model.auto_)
    low, high = model.predict_interval(X_test, coverage=0.8).T
    covered = np.mean((low <= y_test) & (y_test <= high))
    chance = 2.0 * np.sqrt(0.8 * 0.2 / len(y_test))
    print(
        f"80 % intervals cover {covered:.0%} of {len(y_test)} test rows "
        f"(± {chance:.0%} is within chance)"
    )


def tour_of_other_estimators():
    heading("4. Breast cancer: a random forest, a decision tree, AdaBoost and their theory")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = hr.RandomForestClassifier(n_estimators=300, oob_score=True, random_state=0).fit(X, y)
    print(f"random forest, out-of-bag accuracy {forest.oob_score_:.4f}; most important features:")
    print(forest.permutation_importances(X, y).to_frame().head(3).to_string(index=False))
    tree = hr.DecisionTreeClassifier(max_depth=2).fit(X, y.map({0: "malignant", 1: "benign"}))
    print("decision tree:", tree.export_text(), sep="\n", end="")
    adaboost = hr.AdaBoostClassifier(n_estimators=60, random_state=0).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    hr.theory.adaboost_bound(adaboost, X, y).plot(left)
    hr.theory.margins(adaboost, X, y).plot(right)
    left.set_title("AdaBoost: training error and its bound")
    right.set_title("AdaBoost: margins of the training rows")
    figure.savefig(OUT / "theory.png", dpi=130)
    print(hr.theory.forest_bound(forest, X, y))


def tour_of_a_report(model, X, y):
    heading("5. A report on the churn model")
    explained = hr.explain.shap_values(model, X[:1])
    strongest = np.argsort(-np.abs(explained.values[0]))[:3]
    print(
        f"SHAP values of the first row (prediction {model.predict(X[:1])[0]}), in {explained.unit}:"
    )
    for j in strongest:
        name = explained.feature_names[j]
        print(f"  {explained.values[0, j]:+.2f}  {name} = {explained.data[0, j]}")
    start = time.perf_counter()
    hr.report(model, X, y, OUT / "customers.html", title="Customer churn", target_name="status")
    print(f"report written in {time.perf_counter() - start:.1f} s: open {OUT / 'customers.html'}")


def main():
    OUT.mkdir(exist_ok=True)
    print(f"Hedgerow {hr.__version__}, kernels for instruction-set level {hr.isa_level}")
    churn_model = tour_of_customers()
    tour_of_digits()
    tour_of_patients()
    tour_of_other_estimators()
    tour_of_a_report(*churn_model)
    heading("Results, and what to try next")
    print(f"  {OUT / 'customers.hedgerow'}   the model, for hr.load(path)")
    print(
        f"  {OUT / 'customers.html'}       the report: metrics, threshold and costs, SHAP, what-if"
    )
    print(
        f"  {OUT / 'customers.png'}        learning curve, and how the rounds build one prediction"
    )
    print(f"  {OUT / 'theory.png'}           AdaBoost's bound and margins")
    print("  On your own data:")
    print("    import hedgerow as hr, pandas as pd")
    print("    table = pd.read_csv('yours.csv'); y = table.pop('target')")
    print("    model = hr.GradientBoostingClassifier(verbose=1).fit(table, y)  # no tuning needed")
    print("  make test runs the tests; make bench compares with other libraries.")


if __name__ == "__main__":
    main()
