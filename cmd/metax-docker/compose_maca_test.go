// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestServiceCommand is the line of run that stands for a service.
func TestServiceCommand(t *testing.T) {
	model, err := compose.Read([]byte(`{"name": "p", "services": {
		"a": {"image": "i", "platform": "linux/arm64", "tmpfs": ["/run"], "environment": {"A": "b"}, "volumes": [{"type": "bind", "source": "/x", "target": "/opt/maca"}]},
		"b": {"build": {}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"a up":                             "i pull= platform=linux/arm64 mount=target=/opt/maca mount=target=/run env=A=b",
		"a up --pull always --timeout 3":   "i pull= platform=linux/arm64 mount=target=/opt/maca mount=target=/run env=A=b pull=always",
		"a run -e C=d -v /y:/z --rm a":     "i pull= platform=linux/arm64 mount=target=/opt/maca mount=target=/run env=A=b env=C=d volume=/y:/z",
		"b run -e C=d -v /y:/z --rm a cmd": "p-b pull=never",
		"b up --pull always":               "p-b pull=never",
	} {
		words := strings.Fields(line)
		cmd, ok, err := dockerargs.ScanCompose(append([]string{"-D", "compose"}, words[1:]...), dockerargs.Docker(), nil)
		if err != nil || !ok {
			t.Fatal(line, ok, err)
		}
		p := &project{Project: model, cmd: cmd}
		got := p.command(words[0], dockerargs.MACA{Given: true, Version: "3.3"})
		text := got.Image
		for _, f := range got.Flags {
			text += " " + f.Name + "=" + f.Value
		}
		if d := cmp.Diff(want, text); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
		if !got.TakesGPU || got.Options.MACA.Version != "3.3" || strings.Join(got.GlobalWords(), " ") != "-D" {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// TestServiceSoftware is a service with the host's MXMACA by mounts and variables, which
// extend its own.
func TestServiceSoftware(t *testing.T) {
	dir := t.TempDir()
	if err := hostTree(dir); err != nil {
		t.Fatal(err)
	}
	host := simtest.Root(t, dir)
	model, err := compose.Read([]byte(`{"name": "p", "services": {"a": {"image": "i", "gpus": [{"count": 1}], "environment": {"PATH": "/mine:$$x", "CUCC_PATH": "/c"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	cmd, _, err := dockerargs.ScanCompose([]string{"compose", "up"}, dockerargs.Docker(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &project{Project: model, cmd: cmd}
	e, notes, err := inject.MACA{
		Command: p.command("a", dockerargs.MACA{}), Service: true, Default: true, Host: host, Root: "/node", Inject: dockerargs.InjectFlags,
		Image:  func() (image.Facts, error) { return image.Facts{Env: []string{"PATH=/usr/bin"}}, nil },
		Daemon: func() inject.Daemon { return inject.Daemon{} },
		Getenv: func(string) (string, bool) { return "", false },
	}.Edits()
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	if err := p.Inject("a", compose.Injection{Edits: e}); err != nil {
		t.Fatal(err)
	}
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"PATH": "/mine:$$x:/opt/mxdriver/bin:/opt/maca/bin:`, `"CUCC_PATH": "/c"`, `"MACA_PATH": "/opt/maca"`,
		`"source": "/node/opt/maca-3.3.0.15"`, `"target": "/opt/maca"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(string(text), `"target": "/opt/mxdriver"`) {
		t.Error("the driver's user part comes with the GPUs")
	}
}

func TestMACAOption(t *testing.T) {
	for text, want := range map[string]dockerargs.MACA{
		"":      {},
		"true":  {Given: true},
		"false": {Off: true},
		"3.3":   {Given: true, Version: "3.3"},
	} {
		if d := cmp.Diff(want, macaOption(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}
