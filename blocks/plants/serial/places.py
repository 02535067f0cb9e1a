"""Where the joints of a chain are in space, for pictures of it in motion."""

from __future__ import annotations

from typing import Any

from .chain import Chain


def joint_places(chain: Chain, q: Any) -> Any:
    """Where the origins of the links' frames are in that of the base, the base first; positions with a row per instant.

    After the last frame, which often lies on the axis of the joint before, comes a point further along the way of the last link.
    """
    import numpy as np

    count = len(q)
    rotation, place = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))
    places = [place]
    for j, link in enumerate(chain.links):
        place = place + rotation @ np.array(link.place)
        rotation = rotation @ np.array(link.rotation)
        axis = np.array(link.axis)
        if link.prismatic:
            place = place + (rotation @ axis) * q[:, j : j + 1]
        else:
            rotation = rotation @ turns_about(axis, q[:, j])
        places.append(place)
    reach = 0.15 * max(float(np.abs(np.diff(np.array(places), axis=0)).max()), 1e-3)
    places.append(place + rotation @ np.array([reach, 0.0, 0.0]))
    return np.stack(places, axis=1)


def turns_about(axis: Any, angles: Any) -> Any:
    """Rotation matrices about a unit axis, one per angle (Rodrigues)."""
    import numpy as np

    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)
