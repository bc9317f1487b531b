"""What runs support: comparisons and their letters, a gate, early stopping, leaderboards, and numbers of trials."""
