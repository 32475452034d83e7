// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/oci"
)

const (
	gpu  = "metax-tech.com/gpu="
	list = "/var/run/metax-container-devices/"
)

// ask returns a config with annotations ("k=v"), device-list mounts and a variable.
type ask struct {
	annotations, mounts []string
	env                 []string
	privileged          bool
}

func (a ask) config(t testing.TB) *oci.Config {
	t.Helper()
	c := map[string]any{}
	notes := map[string]string{}
	for _, kv := range a.annotations {
		k, v, _ := strings.Cut(kv, "=")
		notes[k] = v
	}
	c["annotations"] = notes
	mounts := []any{map[string]any{"destination": "/proc", "type": "proc", "source": "proc"}}
	for _, d := range a.mounts {
		mounts = append(mounts, map[string]any{"destination": d, "type": "bind", "source": "/dev/null", "options": []string{"rbind"}})
	}
	c["mounts"] = mounts
	process := map[string]any{"env": a.env}
	c["process"] = process
	if a.privileged {
		process["capabilities"] = map[string]any{"bounding": []string{"CAP_SYS_ADMIN"}}
		c["linux"] = map[string]any{"resources": map[string]any{"devices": []any{map[string]any{"allow": true, "access": "rwm"}}}}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func TestRequest(t *testing.T) {
	all := oci.Policy{Environment: true, Unprivileged: true}
	for name, tc := range map[string]struct {
		ask
		policy oci.Policy
		want   []string
	}{
		"nothing":           {},
		"other annotations": {ask: ask{annotations: []string{"metax-tech.com/gpus=1", "cdi.k8s.io=metax-tech.com/gpu=1", "x=cdi.k8s.io/"}}, policy: all},
		"cdi": {
			ask:  ask{annotations: []string{"cdi.k8s.io/a=metax-tech.com/gpu=1,v.org/c=x:1", "cdi.k8s.io/b=metax-tech.com/gpu=1,metax-tech.com/gpu=0"}},
			want: []string{gpu + "1", "v.org/c=x:1", gpu + "0"},
		},
		"gpu":           {ask: ask{annotations: []string{"metax-tech.com/gpu=0,GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b,0000:0e:00.0,0"}}, want: []string{gpu + "0", gpu + "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b", gpu + "0000:0e:00.0"}},
		"all and maca":  {ask: ask{annotations: []string{"metax-tech.com/gpu=all", "metax-tech.com/maca=host"}}, want: []string{gpu + "all", "metax-tech.com/maca=host"}},
		"maca version":  {ask: ask{annotations: []string{"metax-tech.com/maca=3.3.0.15"}}, want: []string{"metax-tech.com/maca=3.3.0.15"}},
		"slices":        {ask: ask{annotations: []string{"metax-tech.com/sgpu=s-1,0000:0e:00.1", "metax-tech.com/gpu="}}, want: []string{"metax-tech.com/sgpu=s-1", "metax-tech.com/sgpu=0000:0e:00.1"}},
		"none":          {ask: ask{annotations: []string{"metax-tech.com/gpu=none", "metax-tech.com/maca="}}},
		"empty":         {ask: ask{annotations: []string{"metax-tech.com/gpu=", "metax-tech.com/maca=none"}}},
		"mounts":        {ask: ask{mounts: []string{list + "1", list + "0", list + "1", "/run/x"}}, want: []string{gpu + "1", gpu + "0"}},
		"mounts, odd":   {ask: ask{mounts: []string{"/var/run/./metax-container-devices//7/"}}, want: []string{gpu + "7"}},
		"the directory": {ask: ask{mounts: []string{list}}},
		"no mounts":     {ask: ask{mounts: []string{list + "1"}}, policy: oci.Policy{NoMounts: true}},
		"order": {
			ask:    ask{annotations: []string{"metax-tech.com/gpu=2", "cdi.k8s.io/a=v.org/c=x"}, mounts: []string{list + "1"}, env: []string{"METAX_VISIBLE_DEVICES=0"}},
			policy: all, want: []string{"v.org/c=x", gpu + "2", gpu + "1"},
		},
		"environment not allowed":  {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=0"}, privileged: true}},
		"environment unprivileged": {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=0"}}, policy: oci.Policy{Environment: true}},
		"environment privileged":   {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=0,1"}, privileged: true}, policy: oci.Policy{Environment: true}, want: []string{gpu + "0", gpu + "1"}},
		"environment, all may":     {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=all"}}, policy: all, want: []string{gpu + "all"}},
		"only Unprivileged":        {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=all"}, privileged: true}, policy: oci.Policy{Unprivileged: true}},
		"the last variable":        {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=0", "METAX_VISIBLE_DEVICES=1", "METAX_VISIBLE_DEVICES_=2", "METAX_VISIBLE_DEVICES"}}, policy: all, want: []string{gpu + "1"}},
		"variable none":            {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=none"}}, policy: all},
		"variable void":            {ask: ask{env: []string{"METAX_VISIBLE_DEVICES=void"}}, policy: all},
		"variable empty":           {ask: ask{env: []string{"METAX_VISIBLE_DEVICES="}}, policy: all},
		"slice and variable": {
			ask:    ask{annotations: []string{"metax-tech.com/sgpu=s-1"}, env: []string{"METAX_VISIBLE_DEVICES=0"}},
			policy: all, want: []string{"metax-tech.com/sgpu=s-1"},
		},
		"maca and variable": {
			ask:    ask{annotations: []string{"metax-tech.com/maca=host"}, env: []string{"METAX_VISIBLE_DEVICES=0"}},
			policy: all, want: []string{"metax-tech.com/maca=host", gpu + "0"},
		},
		"MXMACA by default":     {ask: ask{annotations: []string{"metax-tech.com/gpu=0"}}, policy: oci.Policy{MACA: true}, want: []string{gpu + "0", oci.DefaultMACA}},
		"MXMACA with a slice":   {ask: ask{annotations: []string{"metax-tech.com/sgpu=s-1"}}, policy: oci.Policy{MACA: true}, want: []string{"metax-tech.com/sgpu=s-1", oci.DefaultMACA}},
		"MXMACA without GPUs":   {ask: ask{annotations: []string{"cdi.k8s.io/a=v.org/c=x"}}, policy: oci.Policy{MACA: true}, want: []string{"v.org/c=x"}},
		"another version":       {ask: ask{annotations: []string{"metax-tech.com/gpu=0", "metax-tech.com/maca=2"}}, policy: oci.Policy{MACA: true}, want: []string{gpu + "0", "metax-tech.com/maca=2"}},
		"MXMACA refused":        {ask: ask{annotations: []string{"metax-tech.com/gpu=0", "metax-tech.com/maca=none"}}, policy: oci.Policy{MACA: true}, want: []string{gpu + "0"}},
		"refused by annotation": {ask: ask{annotations: []string{"metax-tech.com/gpu=none"}, env: []string{"METAX_VISIBLE_DEVICES=0"}}, policy: all},
		"GPUs by CDI annotation": {
			ask:    ask{annotations: []string{"cdi.k8s.io/a=metax-tech.com/gpu=5"}, env: []string{"METAX_VISIBLE_DEVICES=0"}},
			policy: all, want: []string{gpu + "5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.config(t)
			got, err := c.Request(tc.policy)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if got != nil && oci.NoRequest(c.Bytes()) {
				t.Error("NoRequest, with a request")
			}
		})
	}
}

func TestRequestRefuses(t *testing.T) {
	long := strings.Repeat("x", 10000) + "!"
	for _, tc := range []struct {
		ask
		says string
	}{
		{ask{annotations: []string{"cdi.k8s.io/a=0"}}, `annotation "cdi.k8s.io/a": "0"`},
		{ask{annotations: []string{"cdi.k8s.io/a="}}, `""`},
		{ask{annotations: []string{"cdi.k8s.io/\n=v.org/c=x,"}}, `"cdi.k8s.io/\n": ""`},
		{ask{annotations: []string{"cdi.k8s.io/a=v.org/c=x, v.org/c=y"}}, `" v.org/c=y"`},
		{ask{annotations: []string{"metax-tech.com/gpu=0,,1"}}, `annotation metax-tech.com/gpu: ""`},
		{ask{annotations: []string{"metax-tech.com/gpu=0, 1"}}, `" 1"`},
		{ask{annotations: []string{"metax-tech.com/gpu=../0"}}, `"../0"`},
		{ask{annotations: []string{"metax-tech.com/gpu=metax-tech.com/gpu=0"}}, `not a device name`},
		{ask{annotations: []string{"metax-tech.com/gpu=0\x1b[2J"}}, `"0\x1b[2J"`},
		{ask{annotations: []string{"metax-tech.com/gpu=0\n"}}, `"0\n"`},
		{ask{annotations: []string{"metax-tech.com/gpu=é"}}, `"é"`},
		{ask{annotations: []string{"metax-tech.com/gpu=" + long}}, `"xxx`},
		{ask{annotations: []string{"metax-tech.com/maca=host,3.3"}}, `"host,3.3"`},
		{ask{annotations: []string{"metax-tech.com/maca=/opt/maca"}}, `"/opt/maca"`},
		{ask{mounts: []string{list + "a/b"}}, `"a/b"`},
		{ask{mounts: []string{list + "-"}}, `"-"`},
		{ask{env: []string{"METAX_VISIBLE_DEVICES=0;1"}}, `variable METAX_VISIBLE_DEVICES: "0;1"`},
		{ask{annotations: []string{"metax-tech.com/gpu=" + numbers(1025)}}, "more than 1024 devices"},
	} {
		names, err := tc.config(t).Request(oci.Policy{Environment: true, Unprivileged: true})
		if !errors.Is(err, oci.ErrRequest) || names != nil || !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%v: %v, %v; want one that says %q", tc.ask, names, err, tc.says)
		}
	}
}

// numbers is a list of n device names.
func numbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return strings.Join(list, ",")
}

// Device-list mounts are removed; other mounts of /dev/null stay.
func TestApplyTakesDeviceListsOut(t *testing.T) {
	c := ask{mounts: []string{list + "1", "/a", list + "0", "/var/run/metax-container-devices"}}.config(t)
	if err := c.Apply(&cdispecs.ContainerEdits{}, look(t)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.Mounts() {
		got = append(got, m.Destination)
	}
	if diff := cmp.Diff([]string{"/proc", "/a", "/var/run/metax-container-devices"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoRequest(t *testing.T) {
	for _, name := range engines {
		if !oci.NoRequest(engineConfig(t, name)) {
			t.Errorf("%s: a request is suspected", name)
		}
	}
	for text, want := range map[string]bool{
		`{"annotations":{"cdi.k8s.io/a":""}}`: false, `{"annotations":{"metax-tech.com/maca":""}}`: false,
		`{"annotations":{"cdi.k8s.io\/a":""}}`: false, `{"annotations":{"\u0063di.k8s.io/a":""}}`: false,
		`["METAX_VISIBLE_DEVICES=0"]`: false, `["METAX_VISIBLE\u005fDEVICES=0"]`: false, `["METAX_VISIBLE_DEVICE\u0053=0"]`: false,
		`["METAX_VISIBLE_DEVICES\u003d0"]`: false, `["/var/run/metax-container-devices\u002F0"]`: false,
		`["/var/run/metax-container-devices/0"]`: false, `["registry.k8s.io/pause","cr.metax-tech.com/x","\u003c\u00e9\n\\\""]`: true,
		`["a.k8s.io/","cdi.k8s.io/","cdi.k8s.io/"]`: false, `["\`: true, `["\u00`: true,
	} {
		if got := oci.NoRequest([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// FuzzRequest checks that NoRequest never misses a request, and that CDI annotations
// are parsed as the library parses them.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"annotations":{"cdi.k8s.io/a":"v.org/c=x"}}`), "v.org/c=x,v.org/c=y")
	f.Add([]byte(`{"annotations":{"metax\u002dtech.com/gpu":"0"},"process":{"env":["METAX_VISIBLE_DEVICES\u003dall"]}}`), "a/b=c,")
	f.Add([]byte(`{"mounts":[{"source":"/dev/null","destination":"/var/run/metax-container-devices\u002f0"}]}`), "a/b=\n")
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		if c, err := oci.Parse(text); err == nil {
			names, err := c.Request(oci.Policy{Environment: true, Unprivileged: true})
			if (names != nil || err != nil) && oci.NoRequest(text) {
				t.Fatalf("NoRequest, but %q, %v: %s", names, err, text)
			}
		}
		value = strings.ToValidUTF8(value, "?")
		_, want, libErr := libcdi.ParseAnnotations(map[string]string{"cdi.k8s.io/a": value})
		got, err := ask{annotations: []string{"cdi.k8s.io/a=" + value}}.config(t).Request(oci.Policy{})
		if (err == nil) != (libErr == nil) {
			t.Fatalf("%q: %v; library: %v", value, err, libErr)
		}
		var once []string
		for _, name := range want {
			if !slices.Contains(once, name) {
				once = append(once, name)
			}
		}
		if err == nil && !slices.Equal(once, got) {
			t.Fatalf("%q: %q; library: %q", value, got, once)
		}
	})
}
