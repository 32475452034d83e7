package operator

// runtimeState deploys nothing: an engine with CDI gives a pod its GPUs by the specs that gpu-device writes.
func runtimeState(in Input) outcome {
	spec := in.Operator.Spec
	switch r := spec.Runtime; {
	case spec.MinimalMode || r.Deploy != nil && !*r.Deploy:
		return outcome{}
	case r.Config.CDIMode != nil && !*r.Config.CDIMode:
		return said("RuntimeReady", false, NotBuilt,
			"this version does not set engines up for runtime.config.cdiMode=false: use CDI, or run metax-ctk runtime configure on the nodes")
	}
	return said("RuntimeReady", true, Host, "engines inject GPUs by CDI and are not changed")
}
