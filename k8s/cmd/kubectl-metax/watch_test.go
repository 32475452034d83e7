// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urfave/cli/v2"
)

// TestWatch: what has changed is printed, and what fails later is said once and tried again,
// until it is interrupted.
func TestWatch(t *testing.T) {
	for format, want := range map[string]string{"table": "a\n\nb\n", "json": "a\nb\n", "yaml": "---\na\n---\nb\n"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			looks := []string{"a", "a", "", "", "b", "b"}
			var out, errs strings.Builder
			app := &cli.App{Writer: &out, ErrWriter: &errs, Flags: slices.Concat(watchFlags(), commonFlags()), Action: withWatch(func(c *cli.Context) error {
				look := looks[0]
				looks = looks[1:]
				if len(looks) == 0 {
					stop()
				}
				if look == "" {
					return errors.New("the API server is away")
				}
				_, err := fmt.Fprintln(c.App.Writer, look)
				return err
			})}
			began := time.Now()
			if err := app.RunContext(ctx, []string{"x", "-w", "-o", format}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if took := time.Since(began); took != 5*watchInterval || out.String() != want || errs.String() != "kubectl metax: the API server is away; trying again\n" {
				t.Errorf("%s, %s: %q, said %q", format, took, out.String(), errs.String())
			}
		})
	}
}

// TestWatchTerminal: the output is drawn over the last one.
func TestWatchTerminal(t *testing.T) {
	terminal, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	app := &cli.App{Flags: commonFlags(), Action: func(c *cli.Context) error {
		if got := follow(c, "a\n", "b\n", terminal); got != "\x1b[Hb\x1b[K\n\x1b[J" {
			t.Errorf("%q", got)
		}
		return nil
	}}
	if err := app.Run([]string{"x"}); err != nil {
		t.Fatal(err)
	}
}

// TestUnread: top says which ConfigMap has no effect.
func TestUnread(t *testing.T) {
	file := t.TempDir() + "/cluster.yaml"
	if err := os.WriteFile(file, []byte(`
kind: List
items:
- {kind: Node, metadata: {name: a, labels: {metax-tech.com/gpu.installed: "true"}}, status: {capacity: {metax-tech.com/gpu: 8}, allocatable: {metax-tech.com/gpu: 8}}}
- {kind: Pod, metadata: {namespace: metax, name: device, labels: {app.kubernetes.io/part-of: metax-gpu-extensions, app.kubernetes.io/name: metax-gpu-device}}}
- {kind: ConfigMap, metadata: {namespace: default, name: metax-device-config}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "\nConfigMap default/metax-device-config has no effect: metax-gpu-device follows that of namespace metax (kubectl edit configmap -n metax metax-device-config)\n"
	if code, out, errs := exec(t, "top --from "+file); code != 0 || !strings.Contains(out, want) {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}
