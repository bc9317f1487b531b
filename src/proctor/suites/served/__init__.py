"""Environments of which only a served host knows anything: a robot, a simulator without a suite."""
