// SPDX-License-Identifier: Apache-2.0

package protocol

// The vendor's names.
const (
	// Resource is the extended resource of whole GPUs, and of virtual functions where GPUs
	// have them.
	Resource = "metax-tech.com/gpu"
	// SliceResource is the extended resource of slices in ModeSGPU, gpu.MaxSlices for each
	// GPU.
	SliceResource = "metax-tech.com/sgpu"
	// VFIOResource is the extended resource of GPUs that are bound to vfio-pci, for virtual
	// machines.
	VFIOResource = "metax-tech.com/vfio-gpu"
	// VFIOVariable names their PCI addresses, with commas between. KubeVirt makes its name of
	// that of the resource (ResourceNameToEnvVar), and leaves the hyphens.
	VFIOVariable = "PCI_RESOURCE_METAX-TECH_COM_VFIO-GPU"
	// ScoresAnnotation and LossesAnnotation are on a node: a Vector each.
	ScoresAnnotation = "metax-tech.com/gpu.topology.scores"
	LossesAnnotation = "metax-tech.com/gpu.topology.losses"
)

// The names of node labels, all below LabelPrefix.
const (
	LabelPrefix      = "metax-tech.com/"
	LabelInstalled   = LabelPrefix + "gpu.installed"
	LabelDriverReady = LabelPrefix + "driver.ready"
	LabelDriverMajor = LabelPrefix + "gpu.driver.major"
	LabelDriverMinor = LabelPrefix + "gpu.driver.minor"
	LabelDriverPatch = LabelPrefix + "gpu.driver.patch"
	LabelDriverMode  = LabelPrefix + "gpu.driver.mode"
	// LabelDriverHost is of this project: whether the host has a driver of its own.
	LabelDriverHost = LabelPrefix + "driver.host"
	LabelFamily     = LabelPrefix + "gpu.family"
	LabelMemory     = LabelPrefix + "gpu.memory"
	LabelProduct    = LabelPrefix + "gpu.product"
	LabelSRIOV      = LabelPrefix + "gpu.sriov"
	LabelVFNum      = LabelPrefix + "gpu.vfnum"
	// LabelValidated and LabelReason are of this project: whether the node can give GPUs to
	// containers, and the first reason why it cannot.
	LabelValidated = LabelPrefix + "validation.ready"
	LabelReason    = LabelPrefix + "validation.reason"
	// LabelRuntime is on a node that has had its turn: metax-container-runtime may set its
	// engines up.
	LabelRuntime = LabelPrefix + "runtime.deploy"
)

// HAMiPolicyAnnotation is on a pod: how its node is chosen, PolicySpread or PolicyBinpack.
const HAMiPolicyAnnotation = "hami.io/node-scheduler-policy"

// Names of this project on a node.
const (
	// NodeAnnotation is the static part of a node's topology, a NodeTopology.
	NodeAnnotation = "topology.metax-ctk.io/node"
	// StateAnnotation is what changes of it, a NodeState.
	StateAnnotation = "topology.metax-ctk.io/state"
	// FaultsAnnotation is which GPUs are lost to the pods that have them, Faults; not there
	// without any.
	FaultsAnnotation = "topology.metax-ctk.io/faults"
	// FatalTaint is the key of a taint with the effect NoSchedule on a node with Faults; its
	// value is the Code of the first.
	FatalTaint = "metax-tech.com/gpu-fatal"
	// ReportsAnnotation is what the operator's agents say about the node, as package report
	// prints it.
	ReportsAnnotation = "metax-ctk.io/components"
	// UpgradeAnnotation is how far an upgrade of the driver is on the node, as package rollout
	// prints it.
	UpgradeAnnotation = "metax-ctk.io/driver-upgrade"
	// UnhealthyCondition is the type of the node condition that is true if a GPU is unhealthy.
	UnhealthyCondition = "MetaXGPUUnhealthy"
	// LostCondition is the type of the node condition that is true if a GPU is lost to the
	// pods that have it.
	LostCondition = "MetaXGPULost"
	// ModePendingCondition is the type of the node condition that is true if the mode is not
	// the configured one, because GPUs are in use.
	ModePendingCondition = "MetaXGPUModePending"
)

// ConfigMapName is the name of the ConfigMap with the DeviceConfig.
const ConfigMapName = "metax-device-config"

// AwareConfigMapName is the name of the ConfigMap with the Weights, as the chart sets it.
const AwareConfigMapName = "metax-gpu-aware-plugin"

// The names of the ConfigMaps with VFNums and VFIOGPUs.
const (
	DriverConfigMap = "driver-config"
	VFIOConfigMap   = "metax-vfio-config"
)

// Names of this project on a pod.
const (
	PolicyAnnotation = "metax-ctk.io/policy" // a policy of the picker
	GPUsAnnotation   = "metax-ctk.io/gpus"   // UUIDs of the chosen GPUs, with commas
	// GivenAnnotation has the UUIDs of the GPUs that the containers of the pod were given,
	// with commas.
	GivenAnnotation = "metax-ctk.io/gpus-given"
	MACAAnnotation  = "metax-ctk.io/maca" // "true" for the host's MXMACA
)

// What the Evictions that the operator requests say, for its chart's policies, which compare
// it with the ClusterOperator, the pod and its node: whether the pod uses GPUs or has a lost
// one, "true" if no controller creates it again, and the node of a pod with a lost GPU.
const (
	EvictsLabel          = "metax-ctk.io/evicts"
	EvictsGPUPod         = "gpu-pod"
	EvictsPod            = "pod"
	EvictsLostGPUPod     = "lost-gpu-pod"
	EvictsAloneLabel     = "metax-ctk.io/evicts-alone"
	EvictsFromAnnotation = "metax-ctk.io/evicts-from"
)

// The programs. A program's name is also its field manager and the source of its Events.
const (
	Device   = "metax-gpu-device"
	Label    = "metax-gpu-label"
	Exporter = "metax-exporter"
	Driver   = "metax-driver"
	Aware    = "metax-gpu-aware"
	Operator = "metax-operator"
	Runtime  = "metax-container-runtime"
)

// Look is the name of the operator's pods that ask for a GPU, and of their priority.
const Look = "metax-gpu-look"

// The DaemonSets that install MXMACA, for the families of GPUs MXC and MXN.
const (
	MACA  = "metax-maca"
	MACAN = "metax-maca-n"
)

// The operator's agents, by the names of their DaemonSets.
const (
	VFManager   = "metax-vf-manager"
	VFIOManager = "metax-vfio-manager"
)

// Namespace is where the programs are installed unless another is chosen.
const Namespace = "metax-gpu-extensions"

// Chart is the name of the chart of the programs; their pods are labelled as parts of it.
const Chart = "metax-gpu-extensions"

// Places on the host.
const (
	// HookDir is where metax-hook is copied for the CDI specs.
	HookDir = "/var/lib/metax-container-toolkit"
	// SliceDir has a SliceFile for each slice of a pod, named by the UUID of the slice, and
	// for each GPU that a pod has whole in ModeSGPU, named by that of the GPU.
	SliceDir = "/run/metax/device-plugin/sgpu"
	// HealthSocket is where the reader answers.
	HealthSocket = "/run/metax-health/health.sock"
)
