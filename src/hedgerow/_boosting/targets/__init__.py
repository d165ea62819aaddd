"""What y can be: numbers, classes, several of them, relevances by query, survival times."""
