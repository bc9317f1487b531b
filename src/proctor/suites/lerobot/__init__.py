"""LeRobot: its policies, and the runtime that they and its small simulators live in. The simulators are tasks of the
suite `gymnasium`."""
