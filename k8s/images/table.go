// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// image is what is built: programs by their place in the sources, in the root of the image,
// and the Debian packages below them.
type image struct {
	name, description string
	programs          []string
	entrypoint        string
	packages          []string
}

var images = []image{
	{
		name: "gpu-device", description: "Device plugin for MetaX GPUs",
		programs: []string{"k8s/cmd/metax-gpu-device"}, entrypoint: "/metax-gpu-device",
	},
	{
		name: "gpu-health", description: "Reads MetaX GPUs with the vendor's library, and writes CDI specs",
		programs: []string{"k8s/cmd/metax-gpu-device", "cmd/metax-hook", "cmd/metax-mxsml"}, entrypoint: "/metax-gpu-device",
		// The C library and what a C++ library such as libmxsml needs of Debian; gcc-12-base
		// has the licence of two of them.
		packages: []string{"gcc-12-base", "libc6", "libgcc-s1", "libstdc++6", "zlib1g"},
	},
	{
		name: "gpu-label", description: "Labels of nodes with MetaX GPUs",
		programs: []string{"k8s/cmd/metax-gpu-label"}, entrypoint: "/metax-gpu-label",
	},
	{
		name: "gpu-aware", description: "Scheduler extender for MetaX GPUs",
		programs: []string{"k8s/cmd/metax-gpu-aware"}, entrypoint: "/metax-gpu-aware",
	},
	{
		name: "exporter", description: "Metrics of MetaX GPUs for Prometheus",
		programs: []string{"k8s/cmd/metax-exporter"}, entrypoint: "/metax-exporter",
	},
	{
		name: "operator-controller", description: "Deploys what a cluster with MetaX GPUs needs",
		// The last two are copied to nodes.
		programs: []string{"k8s/cmd/metax-operator", "cmd/metax-runtime", "cmd/metax-hook"}, entrypoint: "/metax-operator",
	},
}

// selectImages are the images with these names, with commas between them; all for "".
func selectImages(all []image, names string) ([]image, error) {
	if names == "" {
		return all, nil
	}
	var chosen []image
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(all, func(i image) bool { return i.name == name })
		if at < 0 {
			return nil, fmt.Errorf("%q is not an image", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}
