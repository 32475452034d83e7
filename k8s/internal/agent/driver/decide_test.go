// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TestDecide has what is loaded and what is wished, and the next step with the report: MODE
// [ready] [REASON].
func TestDecide(t *testing.T) {
	payload := Payload{ID: "new", Modules: []Module{{Kernel: "6.8", Version: "4.0", Srcversion: "D"}, {Kernel: "5.4", Version: "4.0", Srcversion: "E"}}}
	own := Record{Boot: "b", Payload: "old", Version: "3.4", Srcversion: "C"}
	current := Record{Boot: "b", Payload: "new", Version: "4.0", Srcversion: "D"}
	base := Look{Kernel: "6.8", Payload: payload, Boot: "b"}
	loaded := func(version, srcversion string, r Record) func(*Look) {
		return func(l *Look) { l.Loaded, l.Version, l.Srcversion, l.Record = true, version, srcversion, r }
	}
	host := func(l *Look) { l.PreferHost = true }
	invalid := func(l *Look) { l.Invalid = errors.New("the payload has no /opt/mxdriver/bin/mx-smi") }
	kernel := func(l *Look) { l.Kernel = "6.9" }
	for _, test := range []struct {
		what    string
		changes []func(*Look)
		step    Step
		want    string
		message string
	}{
		{"no driver", nil, Load, "cloud Loading", "driver 4.0 of the payload is being loaded"},
		{"no driver, one of the host preferred", []func(*Look){host}, Load, "cloud Loading", ""},
		{"no driver after a boot", []func(*Look){func(l *Look) { l.Record = current; l.Boot = "c" }}, Load, "cloud Loading", ""},
		{"no driver although one was loaded", []func(*Look){func(l *Look) { l.Record = current }}, Load, "cloud Loading", ""},
		{"no module", []func(*Look){kernel}, Stay, "cloud NoModule", "the payload has no module for kernel 6.9, but for 5.4, 6.8: choose a payload for it"},
		{"no payload", []func(*Look){invalid}, Stay, "cloud BadPayload", "has no /opt/mxdriver/bin/mx-smi"},
		{"the wished driver", []func(*Look){loaded("4.0", "D", current)}, Stay, "cloud ready", ""},
		{"the wished driver, one of the host preferred", []func(*Look){loaded("4.0", "D", current), host}, Stay, "cloud ready", ""},
		{"the wished driver, of which the kernel says nothing", []func(*Look){loaded("", "", current)}, Stay, "cloud ready", ""},
		{"an older driver of ours", []func(*Look){loaded("3.4", "C", own)}, Replace, "cloud Unloading", "driver 3.4 is being unloaded for driver 4.0 of the payload"},
		{"an older driver of ours, one of the host preferred", []func(*Look){loaded("3.4", "C", own), host}, Replace, "cloud Unloading", ""},
		{"an older driver of ours, no module", []func(*Look){loaded("3.4", "C", own), kernel}, Stay, "cloud ready NoModule", "driver 3.4 stays"},
		{"an older driver of ours, no payload", []func(*Look){loaded("3.4", "C", own), invalid}, Stay, "cloud ready BadPayload", "driver 3.4 stays"},
		{"the host's", []func(*Look){loaded("3.4", "C", Record{})}, Replace, "cloud Unloading", ""},
		{"the host's, preferred", []func(*Look){loaded("3.4", "C", Record{}), host}, Stay, "native ready Host", "driver 3.4 of the host is used"},
		{"the host's, no module", []func(*Look){loaded("3.4", "C", Record{}), kernel}, Stay, "native ready NoModule", "driver 3.4 stays"},
		{"the host's, preferred, no module", []func(*Look){loaded("3.4", "C", Record{}), kernel, host}, Stay, "native ready Host", ""},
		{"the host's, the same as the payload's", []func(*Look){loaded("4.0", "D", Record{})}, Stay, "native ready Host", ""},
		{"the host's of the same version", []func(*Look){loaded("4.0", "F", Record{})}, Replace, "cloud Unloading", ""},
		{"the host's, without words", []func(*Look){loaded("", "", Record{})}, Replace, "cloud Unloading", "driver without a version is being"},
		{"the host's in place of ours", []func(*Look){loaded("3.3", "B", own), host}, Stay, "native ready Host", ""},
		{"the host's, a record of another boot", []func(*Look){loaded("3.4", "C", own), host, func(l *Look) { l.Boot = "c" }}, Stay, "native ready Host", ""},
		{"killed before the load, then the host's came", []func(*Look){loaded("3.4", "C", current), host}, Stay, "native ready Host", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			look := base
			for _, change := range test.changes {
				change(&look)
			}
			step, r := Decide(look)
			if got := said(r); step != test.step || got != test.want || !strings.Contains(r.Message, test.message) {
				t.Errorf("step %d, %s: %s; want step %d, %s: %s", step, got, r.Message, test.step, test.want, test.message)
			}
			if look.Loaded && r.Version != look.Version || !look.Loaded && r.Version != "" {
				t.Errorf("the version is %q", r.Version)
			}
		})
	}
}

// said is a report as MODE [ready] [REASON].
func said(r report.Report) string {
	words := []string{r.Mode}
	if r.Ready {
		words = append(words, "ready")
	}
	if r.Reason != "" {
		words = append(words, r.Reason)
	}
	return strings.Join(words, " ")
}

// TestBlocked has users of a driver, and what is said of them.
func TestBlocked(t *testing.T) {
	for _, test := range []struct {
		users       Users
		reason, say string
	}{
		{Users{}, "", ""},
		{Users{Plugin: []string{"metax-gpu-device"}, Processes: []string{"process 7 (mx-smi)"}, Count: 3}, Unloading, "x: waits until metax-gpu-device has left the node"},
		{Users{Plugin: []string{"metax-gpu-device"}, Pods: []string{"pod a/b"}}, InUse, "x: waits for pod a/b; end it, or drain the node"},
		{Users{Leases: []string{"lease 1 of alice"}, Processes: []string{"process 7 (python)"}, Count: 3}, InUse, "x: waits for lease 1 of alice, process 7 (python); end"},
		{Users{Modules: []string{"kernel module mxgvm"}, Count: 1}, InUse, "kernel module mxgvm"},
		{Users{Count: 2}, InUse, "something that the kernel counts (2)"},
		{Users{Unknown: []string{"pods with GPUs, which are not known (no answer)"}}, InUse, "which are not known (no answer)"},
		{Users{Pods: strings.Split("abcdefgh", "")}, InUse, "x: waits for a, b, c, d, e and 3 more; end"},
	} {
		r, blocked := test.users.Blocked(report.Report{Message: "x", Reason: Unloading})
		if blocked != (test.reason != "") || blocked && r.Reason != test.reason || !strings.HasPrefix(r.Message, "x") || !strings.Contains(r.Message, test.say) {
			t.Errorf("%+v: %t %s: %s", test.users, blocked, r.Reason, r.Message)
		}
	}
}

func TestLoadTrouble(t *testing.T) {
	for err, want := range map[error]string{
		unix.EKEYREJECTED: SignatureRefused, unix.ENOKEY: SignatureRefused, unix.EKEYREVOKED: SignatureRefused, unix.EKEYEXPIRED: SignatureRefused,
		unix.EPERM: LoadFailed, unix.ENOEXEC: LoadFailed, unix.ENOMEM: LoadFailed,
	} {
		if reason, next := loadTrouble(fmt.Errorf("finit_module: %w", err)); reason != want || next == "" {
			t.Errorf("%v: %s, %s", err, reason, next)
		}
	}
}
