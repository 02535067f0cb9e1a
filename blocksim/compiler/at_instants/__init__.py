"""What a program does at an instant: due outputs, log, due memories, and the slope that a log row shares with its step."""
