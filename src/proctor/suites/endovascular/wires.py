"""The shipped wires, and what a wire is where its description says nothing: plain data, which any interpreter reads.

The numbers are of the size that bending tests of guidewires report for their class; they stand for a class, not for a
product, and are not calibrated against one. `standard_j` and `simmons` are stEVE's guidewire and its Simmons catheter
of three bends: their dimensions, and Young's modulus (taken as MPa) times the section's moment. `mic_guide` and
`mic_cath` are the two devices of eve_bench's DualDeviceNav, with full sections: stEVE does not tell SOFA of inner
diameters (and the wire's is its outer one). `tools.Tool` says what each means and which values it may have.
"""

from __future__ import annotations

DEFAULTS = {
    "length_mm": 450.0,
    "radius_mm": 0.445,
    "tip_length_mm": 30.0,
    "taper_mm": 60.0,
    "curve_radius_mm": 10.0,
    "curve_length_mm": 12.0,
    "end_mm": 0.0,
}
WIRES = {
    "angled_standard": {
        "shaft_bending": 300, "shaft_torsion": 240, "tip_bending": 12, "tip_torsion": 10, "end_mm": 1.0,
    },
    "angled_stiff": {
        "shaft_bending": 900, "shaft_torsion": 720, "tip_bending": 25, "tip_torsion": 20, "tip_length_mm": 20,
        "taper_mm": 40, "end_mm": 1.0,
    },
    "j_soft": {
        "shaft_bending": 120, "shaft_torsion": 100, "tip_bending": 5, "tip_torsion": 4, "curve_radius_mm": 6,
        "curve_length_mm": 16, "end_mm": 1.0,
    },
    "micro": {
        "radius_mm": 0.18, "shaft_bending": 25, "shaft_torsion": 20, "tip_bending": 1.0, "tip_torsion": 0.8,
        "tip_length_mm": 20, "curve_radius_mm": 6, "curve_length_mm": 7, "end_mm": 1.0,
    },
    "straight": {
        "shaft_bending": 300, "shaft_torsion": 240, "tip_bending": 12, "tip_torsion": 10, "curve_radius_mm": None,
    },
    "standard_j": {
        "shaft_bending": 2464, "shaft_torsion": 1654, "tip_bending": 200, "tip_torsion": 135, "tip_length_mm": 15.2,
        "taper_mm": 0.0, "curve_radius_mm": 12.1, "curve_length_mm": 15.2,
    },
    "mic_guide": {
        "length_mm": 900.0, "radius_mm": 0.18, "shaft_bending": 0.824, "shaft_torsion": 0.553, "tip_bending": 0.824,
        "tip_torsion": 0.553, "tip_length_mm": 15.2, "taper_mm": 0.0, "curve_radius_mm": 12.1, "curve_length_mm": 15.2,
    },
    "mic_cath": {
        "length_mm": 900.0, "radius_mm": 0.35, "shaft_bending": 11.79, "shaft_torsion": 7.91, "tip_bending": 6.36,
        "tip_torsion": 4.27, "tip_length_mm": 15.2, "taper_mm": 0.0, "curve_radius_mm": 12.1, "curve_length_mm": 15.2,
    },
    "simmons": {
        "length_mm": 600.0, "radius_mm": 1.0, "shaft_bending": 736, "shaft_torsion": 494, "tip_bending": 736,
        "tip_torsion": 494,
        "bends": ((5.0, 0.0), (26.18, -60.0), (10.0, 0.0), (6.98, 20.0), (5.0, 0.0), (19.37, 185.0)),
    },
}  # fmt: skip
