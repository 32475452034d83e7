// SPDX-License-Identifier: Apache-2.0

package users

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
)

func TestPods(t *testing.T) {
	list := []podresources.Container{
		{Namespace: "team", Pod: "b", Name: "one", Devices: map[string][]string{"gpu": {"GPU-1"}, "sgpu": {"GPU-2"}}},
		{Namespace: "team", Pod: "b", Name: "two", Devices: map[string][]string{"gpu": {"GPU-3"}}},
		{Namespace: "team", Pod: "a", Devices: map[string][]string{"gpu": {"GPU-4", "GPU-5"}}},
		{Namespace: "team", Pod: "c", Devices: map[string][]string{"other": {"GPU-6"}, "gpu": nil}},
	}
	got := Pods(list, func(resource, id string) bool { return resource != "other" && id != "GPU-4" })
	if diff := cmp.Diff([]string{"pod team/a", "pod team/b"}, got); diff != "" {
		t.Error(diff)
	}
}
