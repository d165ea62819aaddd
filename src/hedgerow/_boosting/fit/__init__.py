"""A fit of gradient boosting, step by step; `fitting` has the order of the steps."""
