// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
)

// Fault is a GPU that is lost to the pods that have it.
type Fault struct {
	UUID gpu.UUID `json:"uuid"`
	// Code is why, one of the codes of package health.
	Code string `json:"code"`
	// Pods have the GPU, or a part of it, by what the kubelet lists.
	Pods []PodName `json:"pods,omitempty"`
}

// PodName names a pod.
type PodName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Faults is the value of FaultsAnnotation, in the order of the node.
type Faults []Fault

// The codes of a GPU of which the driver has logged an error that the administrator takes for
// more than a note.
const (
	LoggedCode = "kernel-log"
	// LoggedFatalCode is the one of an error that puts the jobs of the GPU in danger. It ends
	// no pod: anybody who can make a driver log something could otherwise end the pods of
	// others.
	LoggedFatalCode = "kernel-log-fatal"
)

// IsFatal reports whether a problem of a GPU with the code of package health ends what runs on
// it: the GPU is gone, or the vendor's software cannot use it. Missing device nodes and a
// change of the driver stop no container that has the GPU open.
func IsFatal(code string) bool {
	switch code {
	case health.Missing, health.NotListed, health.PCILink, health.Vendor, LoggedFatalCode:
		return true
	}
	return strings.HasPrefix(code, health.Vendor+"-") && health.IsCode(code)
}

// The limits of Faults. Pods beyond mostFaultPods are left out until some of the others have
// ended.
const (
	maxFaultsText = 64 << 10
	mostFaultPods = 100
	maxName       = 253
)

// String returns the annotation.
func (f Faults) String() string {
	left := mostFaultPods
	short := make(Faults, len(f))
	for i, one := range f {
		one.Pods = one.Pods[:min(len(one.Pods), left)]
		left -= len(one.Pods)
		short[i] = one
	}
	text, err := json.Marshal(short)
	if err != nil {
		return "" // does not happen: there are only strings
	}
	return string(text)
}

var podName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// ParseFaults reads a FaultsAnnotation. The error is an ErrAnnotation.
func ParseFaults(text string) (f Faults, err error) {
	if len(text) > maxFaultsText {
		return nil, Invalid(FaultsAnnotation, "%d bytes; at most %d are read", len(text), maxFaultsText)
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, Invalid(FaultsAnnotation, "%.200q", err.Error())
	}
	pods := 0
	for _, one := range f {
		if _, err := gpu.ParseUUID(string(one.UUID)); err != nil || !IsFatal(one.Code) {
			return nil, Invalid(FaultsAnnotation, "GPU %.60q with the code %.40q", one.UUID, one.Code)
		}
		for _, p := range one.Pods {
			for _, word := range []string{p.Namespace, p.Name, p.UID} {
				if len(word) > maxName || !podName.MatchString(word) {
					return nil, Invalid(FaultsAnnotation, "pod %.40q, %.40q, %.40q", p.Namespace, p.Name, p.UID)
				}
			}
		}
		pods += len(one.Pods)
	}
	if len(f) > gpu.MaxGPUs || pods > mostFaultPods {
		return nil, Invalid(FaultsAnnotation, "%d GPUs and %d pods", len(f), pods)
	}
	return f, nil
}
