"""What closes the loop: sensors and controllers."""
