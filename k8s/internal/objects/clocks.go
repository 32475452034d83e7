// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// clocksTime bounds the question to metax-exporter.
const clocksTime = 5 * time.Second

// AddClocks adds the clocks of the GPUs of the Node that was read: the API server asks
// metax-exporter there. They change too often to be published in an object. What goes wrong
// is in Missing.
func (r Reader) AddClocks(ctx context.Context, o *Objects) {
	clocks, err := r.clocks(ctx, o.Pods)
	if err == nil && len(clocks) == 0 {
		err = errors.New("metax-exporter has no readings of these GPUs (kubectl logs)")
	}
	if err != nil {
		o.Missing = append(o.Missing, "clocks are not shown: "+err.Error())
	}
	o.Clocks = clocks
}

func (r Reader) clocks(ctx context.Context, pods []corev1.Pod) (map[int]protocol.Clock, error) {
	p, port, err := exporterOf(pods)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, clocksTime)
	defer cancel()
	answer, err := r.Client.Pods(p.Namespace).ProxyGet("http", p.Name, port, "metrics", nil).Stream(ctx)
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("you may not get pods/proxy in namespace %s (value readers of the chart)", p.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("ask pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	defer answer.Close()
	text, err := io.ReadAll(io.LimitReader(answer, protocol.MaxMetrics+1))
	if err != nil {
		return nil, fmt.Errorf("ask pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return protocol.ParseClocks(text)
}

// exporterOf returns the pod of metax-exporter among those of a Node, and its port. Everybody
// can give the labels to a pod of their own, so two namespaces with such pods are an error.
func exporterOf(pods []corev1.Pod) (p *corev1.Pod, port string, err error) {
	for i := range pods {
		candidate := &pods[i]
		if !IsProgram(candidate) || candidate.Labels[nameLabel] != protocol.Exporter ||
			candidate.Status.Phase != corev1.PodRunning {
			continue
		}
		if p != nil && p.Namespace != candidate.Namespace {
			return nil, "", fmt.Errorf("pods of namespaces %s and %s have the labels of metax-exporter; remove the wrong one",
				p.Namespace, candidate.Namespace)
		}
		p = candidate
	}
	if p == nil {
		return nil, "", errors.New(
			"no running pod of metax-exporter on this node is known (value dataExporter.deploy of the chart)")
	}
	for _, c := range p.Spec.Containers {
		for _, at := range c.Ports {
			if at.Name == "metrics" {
				return p, strconv.Itoa(int(at.ContainerPort)), nil
			}
		}
	}
	return nil, "", fmt.Errorf("pod %s/%s has no port with the name metrics", p.Namespace, p.Name)
}
