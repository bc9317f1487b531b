"""Policies of LeRobot's as rows of trials; these modules run where LeRobot is installed."""
