"""What an experiment can teach before it is run: Fisher information of any outputs about any numbers of a diagram."""
