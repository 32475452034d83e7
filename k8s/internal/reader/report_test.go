// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func report(t testing.TB, name string) Report {
	t.Helper()
	n := simtest.Node(t, name)
	return Report{Token: "a-1", At: time.Unix(1000, 0).UTC(), Node: n, Look: health.FromNode(n)}
}

func text(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestDecodeReport(t *testing.T) {
	for _, name := range sim.Names() {
		want := report(t, name)
		got, err := decodeReport(text(t, want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	dirty := Report{Token: "a", Node: gpu.NewNode(""), Look: health.Look{
		Failed:   strings.Repeat("x", 5000),
		Readings: []health.Reading{{GPU: health.GPU{Index: 0}, Problems: []health.Problem{{Code: "vendor\n", Text: "stat /host/dev/dri/card1\x1b[2J"}}}},
	}}
	got, err := decodeReport(text(t, dirty))
	if err != nil || len(got.Look.Failed) != maxText || strings.ContainsAny(got.Look.Readings[0].Problems[0].Code+got.Look.Readings[0].Problems[0].Text, "\n\x1b") {
		t.Errorf("%v: %+v", err, got.Look)
	}
	if got := got.Look.Readings[0].Problems[0].Text; !strings.HasPrefix(got, "stat /dev/dri/card1") {
		t.Errorf("an Event would say %q", got)
	}
}

func TestDecodeReportRejects(t *testing.T) {
	const node = `"node":{"apiVersion":"metax-ctk/v1","kind":"Node","gpus":[]}`
	for _, answer := range []string{
		``, `null`, `{}`, `{"token":"a"}`, `{` + node + `}`,
		`{"token":"` + strings.Repeat("a", 65) + `",` + node + `}`,
		`{"token":"a\n",` + node + `}`,
		`{"token":"a","node":{"kind":"Node"}}`,
		`{"token":"a","at":"yesterday",` + node + `}`,
		`{"token":"a",` + node + `,"look":{"readings":[{"index":-2}]}}`,
		`{"token":"a",` + node + `,"look":{"readings":[{"index":0},{"index":0}]}}`,
		`{"token":"a",` + node + `,"look":{"readings":[{"index":0,"bdf":"x"}]}}`,
		`{"token":"a",` + node + `,"look":{"readings":[{"index":0,"uuid":"x"}]}}`,
		`{"token":"a",` + node + `,"look":{"readings":[{"index":0,"problems":[{}` + strings.Repeat(",{}", 64) + `]}]}}`,
	} {
		if got, err := decodeReport([]byte(answer)); !errors.Is(err, errAnswer) || !cmp.Equal(got, Report{}) {
			t.Errorf("%.80s gives %+v, %v", answer, got, err)
		}
	}
}

func TestDecodeReadings(t *testing.T) {
	used := 7
	b := gpu.BDF{Bus: 1}
	want := Readings{At: time.Unix(1000, 0).UTC(), Source: "mx-smi", GPUs: []Reading{{b, gpu.Reading{BDF: b, UtilizationPercent: &used}}}}
	got, err := decodeReadings(text(t, want))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, answer := range []string{``, `[]`, `{"gpus":[{"bdf":"x"}]}`, `{"gpus":[{"bdf":"0000:01:00.0"},{"bdf":"0000:01:00.0"}]}`} {
		if _, err := decodeReadings([]byte(answer)); !errors.Is(err, errAnswer) {
			t.Errorf("%s gives %v", answer, err)
		}
	}
}

// FuzzDecode: what is read is valid input for the state machine and can be printed.
func FuzzDecode(f *testing.F) {
	f.Add(text(f, report(f, "c500-8-sgpu")))
	f.Add([]byte(`{"token":"a","node":{"apiVersion":"metax-ctk/v1","kind":"Node","gpus":[]},"look":{"readings":[{"index":-1}],"failed":"x\u0007"}}`))
	f.Add([]byte(`{"gpus":[{"bdf":"0000:01:00.0","powerW":7}]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if r, err := decodeReadings(answer); err == nil && strings.ContainsAny(r.Source, "\n\x1b") {
			t.Errorf("source %q", r.Source)
		}
		r, err := decodeReport(answer)
		if err != nil {
			if !errors.Is(err, errAnswer) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		state, _ := health.State{}.Next(r.Look, health.DefaultRules)
		if len(state.GPUs) != len(r.Look.Readings) || strings.ContainsAny(state.Failed, "\n\x1b") {
			t.Errorf("state %+v of %+v", state, r.Look)
		}
	})
}
