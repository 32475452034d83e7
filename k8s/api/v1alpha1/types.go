// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ClusterOperator is what a cluster with MetaX GPUs runs. There is one, of the name
// cluster-operator.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="GPU Nodes",type=integer,JSONPath=`.status.gpuNodes`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster-operator'",message="a cluster has one ClusterOperator: its name must be cluster-operator"
type ClusterOperator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +kubebuilder:default={}
	Spec   ClusterOperatorSpec   `json:"spec,omitempty"`
	Status ClusterOperatorStatus `json:"status,omitempty"`
}

// ClusterOperatorList is a list of ClusterOperators.
//
// +kubebuilder:object:root=true
type ClusterOperatorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterOperator `json:"items"`
}

// ClusterOperatorSpec is what is requested.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterOperatorSpec struct {
	// MinimalMode deploys labelgen and devicePlugin only; nodes have their own driver and
	// MXMACA.
	MinimalMode bool `json:"minimalMode,omitempty"`
	// Paused changes nothing in the cluster until it is false again.
	Paused bool `json:"paused,omitempty"`
	// PodTemplateSpec is merged into the pods of every component: maps are merged, lists are
	// appended.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	PodTemplateSpec *runtime.RawExtension `json:"podTemplateSpec,omitempty"`

	// Labelgen labels the nodes with what their GPUs are.
	Labelgen Component `json:"labelgen,omitempty"`
	// DevicePlugin makes the GPUs known to the kubelet.
	DevicePlugin DevicePlugin `json:"devicePlugin,omitempty"`
	// DataExporter serves metrics for Prometheus; off unless deploy is true.
	DataExporter Component `json:"dataExporter,omitempty"`

	// Runtime sets container engines up for GPUs.
	Runtime Runtime `json:"runtime,omitempty"`
	// Driver is the kernel module of the nodes.
	Driver *Driver `json:"driver,omitempty"`
	// MACA is the MXMACA that containers with GPUs get.
	MACA MACA `json:"maca,omitempty"`
	// VFIOManager binds GPUs to vfio, for virtual machines; off unless deploy is true.
	VFIOManager Component `json:"vfioManager,omitempty"`
	// OpenShift prepares a cluster of OpenShift.
	OpenShift Switch `json:"openshift,omitempty"`
	// TopoDiscovery finds the topology across nodes.
	TopoDiscovery Switch `json:"topoDiscovery,omitempty"`
	// GPUScheduler extends or replaces the scheduler.
	GPUScheduler Switch `json:"gpuScheduler,omitempty"`
}

// Switch is a component that is off unless deploy is true.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Switch struct {
	Deploy *bool `json:"deploy,omitempty"`
}

// Component is what all components have.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Component struct {
	// Deploy switches the component on or off.
	Deploy *bool `json:"deploy,omitempty"`
	// Image replaces the one of the operator's release: REPOSITORY:TAG or
	// REPOSITORY@sha256:DIGEST. An image of the vendor's is not used, because its program does
	// not fit.
	//
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	Log   Log    `json:"log,omitempty"`
	// PodTemplateSpec is merged into the pods after that of all components.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	PodTemplateSpec *runtime.RawExtension `json:"podTemplateSpec,omitempty"`
}

// Log is the log of a component; what is empty is as the operator was installed.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Log struct {
	// +kubebuilder:validation:Pattern=`^(/[^/].*)?$`
	Dir string `json:"dir,omitempty"`
	// +kubebuilder:validation:Enum=debug;info;warning;error;fatal
	Level string `json:"level,omitempty"`
	// +kubebuilder:validation:Enum=json;text
	Format string `json:"format,omitempty"`
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*[wdh]$`
	RotationTime string `json:"rotationTime,omitempty"`
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*[wdh]$`
	MaxAge string `json:"maxAge,omitempty"`
}

// DevicePlugin is gpu-device.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DevicePlugin struct {
	Component `json:",inline"`
	// HealthyInterval is how many seconds lie between two looks at the health of the GPUs; 0
	// looks only at events.
	//
	// +kubebuilder:validation:Minimum=0
	HealthyInterval *int64 `json:"healthyInterval,omitempty"`
}

// Runtime is how engines give GPUs to containers.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Runtime struct {
	Component `json:",inline"`
	Config    RuntimeConfig `json:"config,omitempty"`
}

// RuntimeConfig is how engines are set up.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RuntimeConfig struct {
	// CDIMode leaves engines as they are, because they inject GPUs by CDI; it is on unless it
	// is false.
	CDIMode *bool `json:"cdiMode,omitempty"`
	// SetAsDefault makes metax the runtime of containers that name none, if CDIMode is false.
	SetAsDefault *bool `json:"setAsDefault,omitempty"`
}

// Driver is where the kernel module of a node comes from.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:XValidation:rule="has(self.deployPolicy) && self.deployPolicy == 'Never' || has(self.payload) && has(self.payload.version) && size(self.payload.version) > 0",message="payload.version must be given unless deployPolicy is Never"
type Driver struct {
	Component `json:",inline"`
	// DeployPolicy is IfNotPresent, Always or Never, or in the vendor's later words
	// PreferHost, PreferCloud or IfNotExist.
	//
	// +kubebuilder:validation:Enum=IfNotPresent;Always;Never;PreferHost;PreferCloud;IfNotExist
	DeployPolicy string `json:"deployPolicy,omitempty"`
	// Payload is the image with the driver.
	Payload *DriverPayload `json:"payload,omitempty"`
	// FwUpgradePolicy is whether the firmware of GPUs is written.
	FwUpgradePolicy string `json:"fwUpgradePolicy,omitempty"`
	// UpgradePolicy is how nodes that have a driver get a new one.
	UpgradePolicy *DriverUpgradePolicy `json:"upgradePolicy,omitempty"`
}

// DriverUpgradePolicy is how nodes that have a driver get a new one: one after the other or
// several at once. What is not given is as in the vendor's chart. A pod with GPUs is never
// ended unless podDeletion or drain says so.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DriverUpgradePolicy struct {
	// EnableRollout upgrades nodes. Without it a node gets the new driver when somebody
	// deletes its driver pod.
	EnableRollout bool `json:"enableRollout,omitempty"`
	// Pause begins with no further node.
	Pause bool `json:"pause,omitempty"`
	// Fallback is what follows too many failures.
	//
	// +kubebuilder:validation:Enum=pause
	Fallback string `json:"fallback,omitempty"`
	// MaxFailureThreshold is how many failed nodes are too many; 5 if it is not given.
	//
	// +kubebuilder:validation:Minimum=1
	MaxFailureThreshold *int32 `json:"maxFailureThreshold,omitempty"`
	// MaxParallel is how many nodes are upgraded at the same time: a number or a percentage,
	// rounded up; 100% if it is not given.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^(100|[1-9][0-9]?)%$')",message="want a number from 1 or a percentage from 1% to 100%"
	MaxParallel *intstr.IntOrString `json:"maxParallel,omitempty"`
	// MaxUnavailable is how many nodes may be out of service at the same time, for whatever
	// reason: a number or a percentage, rounded up. 0%, which it is if it is not given: only
	// nodes are upgraded whose GPUs no pod uses.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="want a number from 0 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// UpgradeSteps are pauses: after so many nodes since the beginning, for so long. After the
	// last one, all others follow.
	//
	// +kubebuilder:validation:MaxItems=16
	UpgradeSteps []DriverUpgradeStep `json:"upgradeSteps,omitempty"`
	// WaitForCompletion is how long pods with GPUs of a cordoned node may go on.
	WaitForCompletion DriverUpgradeWait `json:"waitForCompletion,omitempty"`
	// PodDeletion evicts the pods with GPUs.
	PodDeletion DriverUpgradeEviction `json:"podDeletion,omitempty"`
	// Drain evicts all pods.
	Drain DriverUpgradeEviction `json:"drain,omitempty"`
}

// DriverUpgradeStep is a pause after some nodes.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DriverUpgradeStep struct {
	// The percentage has a pattern: in a list, the API server of Kubernetes 1.26 refuses a rule
	// that matches a string, as too costly.

	// Replicas is how many nodes were upgraded since the beginning: a number or a percentage,
	// rounded up.
	//
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 1",message="want a number from 1 or a percentage from 1% to 100%"
	Replicas intstr.IntOrString `json:"replicas"`
	// PauseDuration is in milliseconds.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31622400000
	PauseDuration int64 `json:"pauseDuration,omitempty"`
}

// DriverUpgradeWait is a time.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DriverUpgradeWait struct {
	// TimeoutSeconds is after which time pods are evicted, if podDeletion or drain says so, or
	// the node fails. 0 is at once for the former and never for the latter.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31622400
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
}

// DriverUpgradeEviction is whether pods are evicted. Disruption budgets hold.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DriverUpgradeEviction struct {
	Enable bool `json:"enable,omitempty"`
	// Force evicts also pods that no controller creates again.
	Force bool `json:"force,omitempty"`
	// TimeoutSeconds is after which time the node fails because pods are left; 0 is never.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31622400
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
}

// DriverPayload is the image with the driver.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DriverPayload struct {
	Name string `json:"name,omitempty"`
	// +kubebuilder:validation:MaxLength=256
	Version  string `json:"version,omitempty"`
	Registry string `json:"registry,omitempty"`
}

// MACA is the MXMACA that containers get.
//
// +kubebuilder:pruning:PreserveUnknownFields
type MACA struct {
	Component `json:",inline"`
	Payload   MACAPayload `json:"payload,omitempty"`
	// CleanupConfig is which installed versions are removed.
	CleanupConfig MACACleanup `json:"cleanupConfig,omitempty"`
}

// MACACleanup is which versions are removed when there are more than the threshold; none that
// a container uses.
//
// +kubebuilder:pruning:PreserveUnknownFields
type MACACleanup struct {
	// +kubebuilder:validation:Minimum=1
	Threshold *int64 `json:"threshold,omitempty"`
	// +kubebuilder:validation:Enum=Never;OlderVersionFirst;OlderTimestampFirst
	CleanupPolicy string `json:"cleanupPolicy,omitempty"`
}

// MACAPayload are images with MXMACA.
//
// +kubebuilder:pruning:PreserveUnknownFields
type MACAPayload struct {
	// Images have a tag or a digest. Those named after a card, such as maca-c500, are for
	// nodes of its family.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.all(i, i.matches('(@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9_.-]*)$'))",message="an image needs a tag or a digest: NAME:TAG or NAME@sha256:DIGEST"
	Images   []string `json:"images,omitempty"`
	Registry string   `json:"registry,omitempty"`
}

// ClusterOperatorStatus is what the controller saw.
type ClusterOperatorStatus struct {
	// ObservedGeneration is the generation of the spec that the rest is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// GPUNodes is how many nodes have a GPU.
	GPUNodes int32 `json:"gpuNodes"`
	// Conditions are Ready, which sums up, and one for each component that has something to
	// say.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// DriverUpgrade is how far the nodes are that get a new driver.
	DriverUpgrade *DriverUpgradeStatus `json:"driverUpgrade,omitempty"`
}

// DriverUpgradeStatus is how far the nodes are that get a new driver.
type DriverUpgradeStatus struct {
	// Ready, Reason and Message are those of the condition DriverUpgrade.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Nodes are out of service for it. A node is written here before it is cordoned.
	Nodes []DriverUpgradeNode `json:"nodes,omitempty"`
}

// DriverUpgradeNode is a node that is out of service for an upgrade.
type DriverUpgradeNode struct {
	Name string `json:"name"`
	// Turn is how often it was.
	Turn int `json:"turn"`
}
