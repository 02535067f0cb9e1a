"""Program text -> machine code through LLVM itself: for one run, or for several in lockstep, one in each lane of a vector."""
