// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// The components.
const (
	Runtime = "runtime" // what container engines are set up with
	Driver  = "driver"
	MACA    = "maca" // MXMACA for containers
	VF      = "vf"   // virtual functions of GPUs
	VFIO    = "vfio" // GPUs that are bound to vfio
)

// The reasons that the operator plans by, or that several components give.
const (
	Host          = "Host"          // beside ready: what the host itself has is used
	RestartFailed = "RestartFailed" // of Runtime: an engine did not start again
)

var components = []string{Runtime, Driver, MACA, VF, VFIO}

// Report is what an agent says about one component of its node.
type Report struct {
	// Ready reports whether the component does on this node what is requested.
	Ready bool `json:"ready"`
	// Reason is one word why it is not, or what is special although it is, as in a condition;
	// it can be empty.
	Reason string `json:"reason,omitempty"`
	// Message is the reason in words, with the next step.
	Message string `json:"message,omitempty"`
	// Version is that of what is in use, such as of the driver; it can be empty.
	Version string `json:"version,omitempty"`
	// Mode is of the driver only: gpu.DriverCloud if it is, or is about to be, that of a
	// payload, gpu.DriverNative if it is the host's, or empty.
	Mode string `json:"mode,omitempty"`
	// Pod is the UID of the pod whose agent says it; of the driver only, whose agent is
	// replaced in an upgrade.
	Pod string `json:"pod,omitempty"`
}

// longest is how many bytes a message has at most, so that those of all components fit into an
// annotation.
const longest = 1024

var word = regexp.MustCompile(`^([A-Z][A-Za-z]{0,62})?$`)

// validateFor reports what is wrong with a report of a component.
func (r Report) validateFor(component string) error {
	switch {
	case !slices.Contains(components, component):
		return fmt.Errorf("%.80q is not a component: want one of %s", component, strings.Join(components, ", "))
	case !word.MatchString(r.Reason):
		return fmt.Errorf("the reason %.80q is not one word", r.Reason)
	case r.Mode != "" && (component != Driver || (r.Mode != gpu.DriverCloud && r.Mode != gpu.DriverNative)):
		return fmt.Errorf("the mode %.80q is not that of a driver", r.Mode)
	case len(validation.IsValidLabelValue(r.Pod)) > 0:
		return fmt.Errorf("the pod %.80q has other characters than a UID", r.Pod)
	case len(validation.IsValidLabelValue(r.Version)) > 0:
		return fmt.Errorf("the version %.80q has other characters than a label can have", r.Version)
	}
	return nil
}

// withCleanMessage is a report whose message names the host's paths, is one line, and not too
// long.
func (r Report) withCleanMessage() Report {
	r.Message = wording.Short(terminal.Line(protocol.InCluster(r.Message)), longest)
	return r
}

// Labels are the labels of a Node with these reports, by component. The label of a component
// that is ready has no reason beside it.
func Labels(reports map[string]Report) map[string]string {
	labels := map[string]string{}
	for component, r := range reports {
		labels[protocol.LabelPrefix+component+".ready"] = strconv.FormatBool(r.Ready)
		if !r.Ready && r.Reason != "" {
			labels[protocol.LabelPrefix+component+".reason"] = r.Reason
		}
	}
	return labels
}

// Print is the value of the annotation with these reports, "" if there are none.
func Print(reports map[string]Report) string {
	if len(reports) == 0 {
		return ""
	}
	text, err := json.Marshal(reports)
	if err != nil {
		panic(err) // of truth values and texts
	}
	return string(text)
}

// Parse reads the value of the annotation. What is not a report of a component is left out.
func Parse(text string) map[string]Report {
	var reports map[string]Report
	if json.Unmarshal([]byte(text), &reports) != nil {
		return nil
	}
	for component, r := range reports {
		if r.validateFor(component) != nil {
			delete(reports, component)
			continue
		}
		reports[component] = r.withCleanMessage()
	}
	return reports
}
