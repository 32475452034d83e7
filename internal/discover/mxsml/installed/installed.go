// SPDX-License-Identifier: Apache-2.0

// Package installed finds the vendor's library on a host.
package installed

import (
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// operatorDir is where the operator of package k8s records which versions of MXMACA it
// installed from images, as maca-VERSION.json.
const operatorDir = "/opt/.metax-maca"

// Library returns the host's libmxsml, as this process sees it. One in an MXMACA that the
// operator installed is left out: it comes from an image, and root does not load that into a
// process.
func Library(host *hostfs.Root) (file string, ok bool) {
	for _, candidate := range mxsml.Paths() {
		at, err := host.Resolve(candidate)
		if err == nil && !fromImage(host, at) {
			return host.Join(at), true
		}
	}
	return "", false
}

// fromImage reports whether the operator installed what is at a path with links followed.
func fromImage(host *hostfs.Root, at string) bool {
	below, ok := strings.CutPrefix(at, "/opt/")
	dir, _, _ := strings.Cut(below, "/")
	return ok && (dir == path.Base(operatorDir) || host.Exists(path.Join(operatorDir, dir+".json")))
}
