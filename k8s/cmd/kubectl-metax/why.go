// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/metax-ctk/container-toolkit/k8s/internal/kubectl/view"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
)

func whyPod(c *cli.Context) error {
	s, err := openSource(c)
	if err != nil {
		return err
	}
	pod, err := s.pod(c, c.Args().First())
	if err != nil {
		return err
	}
	if !objects.RequestsGPUs(pod) {
		return fmt.Errorf("pod %s/%s requests neither GPUs nor slices", pod.Namespace, pod.Name)
	}
	o, err := s.clusterObjects(c)
	if err != nil {
		return err
	}
	if s.file == nil {
		if err := s.reader.AddEvents(c.Context, &o,
			corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}); err != nil {
			return fmt.Errorf("list the Events of the pod: %w", err)
		}
		if err := s.reader.AddConfigs(c.Context, &o, objects.IsAware); err != nil {
			return err
		}
		if err := s.reader.AddAsked(c.Context, &o); err != nil {
			return err
		}
	}
	w := view.NewWhy(o, pod)
	return printOutput(c, w, w.Text())
}

// pod returns the pod of that name.
func (s source) pod(c *cli.Context, name string) (*corev1.Pod, error) {
	if s.file != nil {
		for i := range s.file.Pods {
			if p := &s.file.Pods[i]; p.Namespace == s.namespace && p.Name == name {
				return p, nil
			}
		}
		return nil, noPod(name, s.namespace)
	}
	p, err := s.reader.Pod(c.Context, s.namespace, name)
	if apierrors.IsNotFound(err) {
		err = noPod(name, s.namespace)
	}
	return p, err
}

func noPod(name, namespace string) error {
	return fmt.Errorf("no pod %q with GPUs in namespace %s; all pods with GPUs: %s top pod -A", name, namespace, program)
}
