// SPDX-License-Identifier: Apache-2.0

package labeler

import (
	"context"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/k8s/internal/label"
)

// File is the path of a features file, from which Node Feature Discovery makes labels.
type File string

// Write replaces the file if its content differs. Of reports it has the labels only. Without
// labels it stays.
func (f File) Write(_ context.Context, labels map[string]string, _ string) (changed bool, err error) {
	if labels == nil {
		return false, nil
	}
	return atomicfile.Write(string(f), label.Features(labels), atomicfile.Options{Perm: 0o644})
}
