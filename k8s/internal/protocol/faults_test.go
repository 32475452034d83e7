// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
)

func TestFaults(t *testing.T) {
	f := Faults{{UUID: "GPU-1", Code: "missing", Pods: []PodName{{"team-a", "train-0", "0f2a-11"}}}, {UUID: "GPU-2", Code: "vendor-7"}}
	want := `[{"uuid":"GPU-1","code":"missing","pods":[{"namespace":"team-a","name":"train-0","uid":"0f2a-11"}]},{"uuid":"GPU-2","code":"vendor-7"}]`
	if got := f.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if back, err := ParseFaults(want); err != nil || !cmp.Equal(f, back) {
		t.Errorf("%v: %+v", err, back)
	}
}

// TestFaultsBound: a node that loses all GPUs with all their pods writes a record that can be
// read.
func TestFaultsBound(t *testing.T) {
	var f Faults
	for i := range 128 {
		one := Fault{UUID: gpu.UUID(fmt.Sprintf("GPU-%036d", i)), Code: "not-listed"}
		for j := range 16 {
			one.Pods = append(one.Pods, PodName{strings.Repeat("n", 63), strings.Repeat("p", 250) + fmt.Sprint(j), strings.Repeat("0", 36)})
		}
		f = append(f, one)
	}
	back, err := ParseFaults(f.String())
	if err != nil {
		t.Fatal(err)
	}
	pods := 0
	for _, one := range back {
		pods += len(one.Pods)
	}
	if len(back) != 128 || pods != mostFaultPods || len(f[127].Pods) != 16 {
		t.Errorf("%d GPUs, %d pods", len(back), pods)
	}
}

func TestParseFaultsRejects(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `[{"uuid":"","code":"missing"}]`, `[{"uuid":"GPU-1","code":"no-device-nodes"}]`, `[{"uuid":"GPU-1","code":"vendor-x"}]`,
		`[{"uuid":"GPU-1","code":"missing","pods":[{"namespace":"a","name":"b/c","uid":"1"}]}]`,
		`[{"uuid":"GPU-1","code":"missing","pods":[{"namespace":"a","name":"b"}]}]`,
		`[]` + strings.Repeat(" ", maxFaultsText),
	} {
		if got, err := ParseFaults(text); !errors.Is(err, ErrAnnotation) || got != nil {
			t.Errorf("%.80s gives %+v, %v", text, got, err)
		}
	}
}

func TestIsFatal(t *testing.T) {
	want := map[string]bool{health.Missing: true, health.NotListed: true, health.PCILink: true, health.Vendor: true}
	for _, code := range append([]string{"", "vendor-x", "unseen", "divided"}, health.Codes...) {
		if IsFatal(code) != want[code] {
			t.Errorf("%s: %t", code, !want[code])
		}
	}
	if !IsFatal("vendor-7") || !IsFatal(LoggedFatalCode) || IsFatal(LoggedCode) {
		t.Error("a reason of the vendor's or an error in the log")
	}
}
