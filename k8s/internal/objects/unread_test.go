// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnread: a ConfigMap that a program follows in another namespace is told, that of another
// project is not.
func TestUnread(t *testing.T) {
	o, err := Parse([]byte(`
kind: List
items:
- {kind: Pod, metadata: {namespace: metax, name: device, labels: {app.kubernetes.io/part-of: metax-gpu-extensions, app.kubernetes.io/name: metax-gpu-device}}}
- {kind: Pod, metadata: {namespace: metax, name: operator, labels: {app.kubernetes.io/part-of: metax-gpu-extensions, app.kubernetes.io/name: metax-operator}}}
- {kind: ConfigMap, metadata: {namespace: metax, name: metax-device-config}}
- {kind: ConfigMap, metadata: {namespace: default, name: metax-device-config}}
- {kind: ConfigMap, metadata: {namespace: default, name: metax-gpu-aware-plugin}}
- {kind: ConfigMap, metadata: {namespace: team, name: driver-config}, data: {node-vfnums: "nodes: {}"}}
- {kind: ConfigMap, metadata: {namespace: other, name: driver-config}, data: {conf: x}}
`))
	want := []Unread{{"default", "metax-device-config", "metax-gpu-device", "metax"}, {"team", "driver-config", "metax-operator", "metax"}}
	if diff := cmp.Diff(want, o.Unread); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
