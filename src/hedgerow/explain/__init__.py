"""Why a model predicts what it does: a prediction as a sum of what each column adds."""
