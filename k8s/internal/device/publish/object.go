// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// applied is the part of a Node that is ours, for server-side apply.
type applied struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		UID         types.UID         `json:"uid"`
		Annotations map[string]string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Status *appliedStatus `json:"status,omitempty"`
}

type appliedStatus struct {
	Conditions []corev1.NodeCondition `json:"conditions"`
}

// nodeText returns our part of the Node with that name and UID. Without a UID, the API server
// would make a Node that is gone anew.
func nodeText(name string, uid types.UID, annotations map[string]string,
	conditions ...corev1.NodeCondition,
) ([]byte, error) {
	a := applied{APIVersion: "v1", Kind: "Node"}
	a.Metadata.Name, a.Metadata.UID, a.Metadata.Annotations = name, uid, annotations
	if len(conditions) > 0 {
		a.Status = &appliedStatus{conditions}
	}
	return json.Marshal(a)
}

// conditionsOf returns the conditions of the Values. before are those that the Node has; the
// time of one stays if its status does.
func conditionsOf(v Values, before []corev1.NodeCondition, at time.Time) (all []corev1.NodeCondition) {
	now := metav1.NewTime(at.UTC().Truncate(time.Second))
	for _, c := range v.Conditions {
		out := corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionFalse, Reason: c.Reason, Message: c.Message,
			LastTransitionTime: now, LastHeartbeatTime: now,
		}
		if c.True {
			out.Status = corev1.ConditionTrue
		}
		for _, old := range before {
			if old.Type == out.Type && old.Status == out.Status {
				out.LastTransitionTime = old.LastTransitionTime
			}
		}
		all = append(all, out)
	}
	return all
}

// Notice is what an Event about the Node tells.
type Notice struct {
	Reason  string
	Warning bool
	Message string
}

// healthNotice returns the Notice about a change of health, and false if there is none: a GPU
// that is healthy from the beginning.
func healthNotice(c health.Change) (Notice, bool) {
	reason := map[string]string{
		health.Healthy: "MetaXGPUHealthy", health.Unhealthy: "MetaXGPUUnhealthy",
		health.Unknown: "MetaXGPUUnknown",
	}[c.Health]
	healthy := c.Health == health.Healthy
	return Notice{reason, !healthy, describe(c.Condition)}, !healthy || c.Before != ""
}

// Invalid returns the Notice about a mistake in the configuration of modes.
func Invalid(problem string) Notice {
	return Notice{"MetaXDeviceConfigInvalid", true, "ConfigMap " + protocol.ConfigMapName + ": " + problem}
}

// eventOf returns the Event of a Notice.
func eventOf(node string, n Notice, now time.Time) corev1.Event {
	kind := corev1.EventTypeNormal
	if n.Warning {
		kind = corev1.EventTypeWarning
	}
	at := metav1.NewTime(now.UTC())
	return corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: protocol.Device + "-", Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node, UID: types.UID(node), APIVersion: "v1"},
		Reason:         n.Reason, Type: kind, Message: fmt.Sprintf("%.1000s", n.Message),
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source: corev1.EventSource{Component: protocol.Device, Host: node}, ReportingController: protocol.Device,
		ReportingInstance: node,
	}
}
