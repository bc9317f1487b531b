"""The parts of the motion tracking room."""

from __future__ import annotations

PARTS = {
    "proctor.suites": {
        "tracking": "proctor.suites.tracking.suite:TrackingSuite",
    },
    "proctor.loaders": {
        "tracking/mirror": "proctor.suites.tracking.loaders:MirrorLoader",
        "tracking/hold": "proctor.suites.tracking.loaders:HoldLoader",
    },
    "proctor.metrics": {
        "emd": "proctor.suites.tracking.metrics.recorded:Emd",
        "distance": "proctor.suites.tracking.metrics.recorded:Distance",
        "proximity": "proctor.suites.tracking.metrics.recorded:Proximity",
        "mpjpe_l": "proctor.suites.tracking.metrics.recorded:MpjpeL",
        "vel_dist": "proctor.suites.tracking.metrics.recorded:VelDist",
        "accel_dist": "proctor.suites.tracking.metrics.recorded:AccelDist",
        "emd_xpos": "proctor.suites.tracking.metrics.recorded:EmdXpos",
        "distance_xpos": "proctor.suites.tracking.metrics.recorded:DistanceXpos",
        "proximity_xpos": "proctor.suites.tracking.metrics.recorded:ProximityXpos",
        "mpjpe_xpos": "proctor.suites.tracking.metrics.recorded:MpjpeXpos",
        "success_phc_linf_xpos": "proctor.suites.tracking.metrics.recorded:SuccessPhcLinfXpos",
        "success_phc_mean_xpos": "proctor.suites.tracking.metrics.recorded:SuccessPhcMeanXpos",
        "obs_state_emd": "proctor.suites.tracking.metrics.recorded:ObsStateEmd",
        "obs_state_distance": "proctor.suites.tracking.metrics.recorded:ObsStateDistance",
        "obs_state_proximity": "proctor.suites.tracking.metrics.recorded:ObsStateProximity",
        "root_pos_error_m": "proctor.suites.tracking.metrics.recorded:RootPosError",
        "root_rot_error_rad": "proctor.suites.tracking.metrics.recorded:RootRotError",
        "torso_rot_error_rad": "proctor.suites.tracking.metrics.recorded:TorsoRotError",
        "upright_share": "proctor.suites.tracking.metrics.recorded:UprightShare",
        "first_fall_s": "proctor.suites.tracking.metrics.recorded:FirstFall",
        "frames_compared": "proctor.suites.tracking.metrics.recorded:FramesCompared",
        "frames_cut": "proctor.suites.tracking.metrics.recorded:FramesCut",
    },
    "proctor.scorings": {
        "tracking_v1": "proctor.suites.tracking.scoring:TrackingV1",
    },
    "proctor.sections": {
        "tracking": "proctor.suites.tracking.report.section:Tracking",
    },
}
