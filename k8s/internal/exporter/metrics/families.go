package metrics

// Family is a metric with its labels: a counter if its name ends in _total, otherwise a gauge.
type Family struct {
	Name   string
	Help   string // one sentence, without a full stop
	Labels []string
}

// gpuLabels name a GPU and its user: position, UUID and PCI address of the GPU, and either the
// pod's namespace, name and container, or the lease of a container outside of Kubernetes. The
// labels of the user are empty for a GPU without a user, and where several have a part of it.
var gpuLabels = []string{"gpu", "uuid", "bdf", "namespace", "pod", "container", "lease"}

// The families of a GPU.
var (
	Healthy     = ofGPU("metax_gpu_healthy", "Whether the GPU is healthy (1), or unhealthy or unknown (0)")
	Problem     = ofGPU("metax_gpu_problem", "Always 1, for a GPU that is not healthy; code says why", "code")
	Users       = Family{"metax_gpu_users", "Containers and leases that have the GPU or a part of it", gpuLabels[:3:3]}
	Utilization = ofGPU("metax_gpu_utilization_ratio", "Share of time in which the GPU computes, from 0 to 1")
	MemoryUsed  = ofGPU("metax_gpu_memory_used_bytes", "Memory of the GPU in use")
	MemoryTotal = ofGPU("metax_gpu_memory_total_bytes", "Memory of the GPU")
	Temperature = ofGPU("metax_gpu_temperature_celsius", "Temperature of the hottest place of the GPU")
	Power       = ofGPU("metax_gpu_power_watts", "Power that the board draws")
	PowerLimit  = ofGPU("metax_gpu_power_limit_watts", "Power that the board may draw")
	LinksUp     = ofGPU("metax_gpu_links_up", "Ports of MetaXLink that are trained")
	LinksLost   = ofGPU("metax_gpu_links_lost", "MetaXLinks to other GPUs that are down or missing")
	ECCErrors   = ofGPU("metax_gpu_ecc_errors_total", "Memory errors of the GPU since its driver was loaded", "memory", "kind")
	Retired     = ofGPU("metax_gpu_retired_pages", "Pages of the GPU's memory that are not used any more because of memory errors")
	Info        = Family{"metax_gpu_info", "Always 1; the labels describe the GPU", []string{"gpu", "uuid", "bdf", "model", "product", "numa", "link_domain"}}
)

// The families of a node.
var (
	GPUs       = Family{"metax_gpus", "GPUs that the node has had since the exporter started, missing ones too", nil}
	Software   = Family{"metax_software_info", "Always 1; the labels are versions and the driver's mode", []string{"driver", "driver_mode", "maca"}}
	SourceUp   = Family{"metax_exporter_source_up", "Whether the last question to a source was answered", []string{"source"}}
	LookTime   = Family{"metax_exporter_look_timestamp_seconds", "Time of the last look at the health of the GPUs", nil}
	LookFailed = Family{"metax_exporter_look_failed", "Whether the last look at the health of the GPUs failed", nil}
)

// Families returns all, in the order of the documentation.
func Families() []Family {
	return []Family{
		Healthy, Problem, Users, Utilization, MemoryUsed, MemoryTotal, Temperature, Power, PowerLimit, LinksUp, LinksLost, ECCErrors, Retired, Info,
		GPUs, Software, SourceUp, LookTime, LookFailed,
	}
}

// ofGPU is a family of a GPU, with more labels than its own.
func ofGPU(name, help string, more ...string) Family {
	return Family{name, help, append(gpuLabels[:len(gpuLabels):len(gpuLabels)], more...)}
}
