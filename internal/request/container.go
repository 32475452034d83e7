package request

// How a container asks for devices where there is no --gpus: the annotation that is
// called like the kind, and these. Package oci reads them to serve them, package
// internal/holders to count what is in use.
const (
	// CDIAnnotations begins the annotations of CDI, whose values are comma lists of
	// qualified device names of any kind.
	CDIAnnotations = "cdi.k8s.io/"
	// DeviceList is where, in the container, a mount from /dev/null asks for the GPU
	// whose name it bears.
	DeviceList = "/var/run/metax-container-devices/"
)
