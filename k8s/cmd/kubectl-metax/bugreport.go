// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/kubectl/bugreport"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
)

// reportFile is where a report is written unless another file is named.
const reportFile = "metax-cluster.yaml"

// written is a report that was written, as -o prints it.
type written struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Path       string   `json:"path"`
	Nodes      int      `json:"nodes"`
	Pods       int      `json:"pods"`
	Events     int      `json:"events"`
	Bytes      int      `json:"bytes"`
	Notes      []string `json:"notes"` // what could not be read
}

func writeReport(c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		name = reportFile
	}
	if name == "-" && c.String("output") != "table" {
		return usageErrorf("a report is text: -o %s needs a file", c.String("output"))
	}
	s, err := openSource(c)
	if err != nil {
		return err
	}
	o, err := s.clusterObjects(c)
	if err != nil {
		return err
	}
	versions := []string{newVersion().versionLine()}
	if s.client != nil {
		if err := s.reader.AddEvents(c.Context, &o, corev1.ObjectReference{}); err != nil {
			return fmt.Errorf("list the Events: %w", err)
		}
		if err := s.reader.AddConfigs(c.Context, &o, objects.IsProgram); err != nil {
			return err
		}
		if server, err := s.client.Discovery().ServerVersion(); err == nil {
			versions = append(versions, "Kubernetes "+server.GitVersion)
		}
	}
	text, err := bugreport.New(o, versions)
	if err != nil {
		return err
	}
	if name == "-" {
		_, err := c.App.Writer.Write(text)
		return err
	}
	if _, err := atomicfile.Write(name, text, atomicfile.Options{Perm: 0o600}); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	w := written{
		APIVersion: gpu.APIVersion, Kind: "ClusterBugreport", Path: name, Nodes: len(o.Nodes), Pods: len(o.Pods),
		Events: len(o.Events), Bytes: len(text), Notes: append([]string{}, o.Missing...),
	}
	table := fmt.Sprintf("%s: %s, %s, %s, %d bytes\n", name, wording.Count(w.Nodes, "node"), wording.Count(w.Pods, "pod"),
		wording.Count(w.Events, "Event"), w.Bytes)
	for _, note := range w.Notes {
		table += terminal.Message(note) + "\n"
	}
	return printOutput(c, w, table+
		fmt.Sprintf("next: read it, then send it; to look at it: %s top --from %s\n", program, name))
}
