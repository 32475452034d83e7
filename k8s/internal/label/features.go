// SPDX-License-Identifier: Apache-2.0

package label

import (
	"maps"
	"slices"
	"strings"
)

// Features returns the labels as a features file of Node Feature Discovery: a line
// "name=value" for each label, sorted.
func Features(labels map[string]string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(name + "=" + labels[name] + "\n")
	}
	return []byte(b.String())
}
