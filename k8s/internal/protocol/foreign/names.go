// SPDX-License-Identifier: Apache-2.0

package foreign

// What schedulers and the plugin of slices tell each other.
const (
	// RegistrationAnnotation is on a node in ModeSGPU: a list of Registered.
	RegistrationAnnotation = "metax-tech.com/node-gpu-devices"
	// LockAnnotation is on a node: the pod whose slices may be allocated, a Lock.
	LockAnnotation = "hami.io/mutex.lock"
	// SlicesAnnotation is on a pod: the slices that a scheduler chose.
	SlicesAnnotation = "metax-tech.com/gpu-devices-allocated"
	// QoSAnnotation is on a pod: the class of its slices, one of gpu.QoSClasses.
	QoSAnnotation = "metax-tech.com/sgpu-qos-policy"
	// AppClassAnnotation is on a pod: "online" or "offline".
	AppClassAnnotation = "metax-tech.com/sgpu-app-class"
	// PhaseAnnotation is on a pod that HAMi bound: one of the Phase constants.
	PhaseAnnotation = "hami.io/bind-phase"
)

// The values of PhaseAnnotation.
const (
	PhaseAllocating = "allocating"
	PhaseSuccess    = "success"
	PhaseFailed     = "failed"
)

// KunlunxinDevices has the indices of GPUs, with commas: an annotation of a pod and a variable
// of its containers, by the name that Kunlunxin's plugin gives to both.
const KunlunxinDevices = "BAIDU_COM_DEVICE_IDX"
