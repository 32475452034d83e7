package operator

// macaState deploys nothing: containers get the MXMACA of their image or of their node.
func macaState(in Input) outcome {
	switch n := len(in.Operator.Spec.MACA.Payload.Images); {
	case in.Operator.Spec.MinimalMode:
		return outcome{}
	case n > 0:
		return said("MACAReady", false, NotBuilt, "this version does not unpack maca.payload.images (%d): install MXMACA on the nodes, or use images that have it", n)
	}
	return said("MACAReady", true, Host, "containers get the MXMACA of their image, or that of the node")
}
