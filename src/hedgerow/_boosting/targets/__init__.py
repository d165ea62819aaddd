"""What y can be: numbers, classes, several outputs, relevances by query, survival times."""
