"""The estimators of gradient boosting, and their parameters."""
