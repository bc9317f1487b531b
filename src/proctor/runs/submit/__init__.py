"""A run as an array of jobs, on a Slurm cluster or on this machine: `proctor submit`. The jobs take small shards
("parcels") of the plan from one queue, which is a folder, and the shards are merged at the end."""
