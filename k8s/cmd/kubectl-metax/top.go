// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/kubectl/view"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
)

// errEmpty reports a cluster without GPUs.
var errEmpty = fmt.Errorf(
	"%wno node of this cluster has MetaX GPUs (kubectl get nodes -L metax-tech.com/gpu.installed)", errNoGPU)

// cluster returns the objects of a cluster with GPUs.
func cluster(c *cli.Context) (source, objects.Objects, error) {
	s, err := openSource(c)
	if err != nil {
		return s, objects.Objects{}, err
	}
	o, err := s.clusterObjects(c)
	if err == nil && len(o.Nodes) == 0 {
		err = errEmpty
	}
	return s, o, err
}

func topCluster(c *cli.Context) error {
	_, o, err := cluster(c)
	if err != nil {
		return err
	}
	v := view.NewCluster(o)
	return printOutput(c, v, v.Text())
}

func topNode(c *cli.Context) error {
	if c.NArg() == 0 {
		_, o, err := cluster(c)
		if err != nil {
			return err
		}
		v := view.NewNodeList(o)
		return printOutput(c, v, v.Text())
	}
	s, err := openSource(c)
	if err != nil {
		return err
	}
	o, err := s.nodeObjects(c, c.Args().First())
	if err != nil {
		return err
	}
	if s.file == nil {
		s.reader.AddClocks(c.Context, &o)
	} else {
		o.Missing = append(slices.Clip(o.Missing), "clocks are not shown: a file does not have them")
	}
	v := view.NewNodeDetails(o)
	return printOutput(c, v, v.Text())
}

func topPod(c *cli.Context) error {
	s, o, err := cluster(c)
	if err != nil {
		return err
	}
	name, namespace := c.Args().First(), s.namespace
	if c.Bool("all-namespaces") {
		if name != "" {
			return usageErrorf("a pod of all namespaces: leave out its name, or --all-namespaces")
		}
		namespace = ""
	}
	v := view.NewPodList(o, namespace, name)
	if name != "" && len(v.Items) == 0 {
		return fmt.Errorf("no pod %q in namespace %s has GPUs or waits for some (--all-namespaces lists all)", name,
			namespace)
	}
	return printOutput(c, v, v.Text())
}
