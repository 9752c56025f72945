"""What learners of branching share: the teacher that labels nodes of SCIP's trees, the labels, and the training on them."""
