"""What workers of the engine's own interpreter add to `proctor_host`, which is the inside of every worker."""
