// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"encoding/json"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"
)

// TestLibraries: each line that a library logs is one of the program's log, with the host's
// paths.
func TestLibraries(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() {
		klog.ClearLogger()
		slog.SetDefault(before)
		stdlog.SetOutput(os.Stderr)
	})
	TakeKlog()
	var out strings.Builder
	app := &cli.App{Name: "metax-gpu-device", Flags: Flags("metax-gpu-device"), Writer: io.Discard, Action: func(c *cli.Context) error {
		log, file, err := New(c, "metax-gpu-device", &out)
		if err != nil {
			return err
		}
		klog.Warning("Neither --kubeconfig nor --master was specified.")
		klog.ErrorS(os.ErrPermission, "no list", "object", "a/b")
		stdlog.Print("http: TLS handshake error")
		log.Warn("stat /host/dev/dri/card1")
		return file.Close()
	}}
	if err := app.Run([]string{"x", "--log-dir="}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var l struct{ Msg, Program, Object, Err string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		got = append(got, strings.TrimSpace(strings.Join([]string{l.Program, l.Msg, l.Object, l.Err}, " ")))
	}
	if diff := cmp.Diff([]string{
		"metax-gpu-device Neither --kubeconfig nor --master was specified.", "metax-gpu-device no list a/b permission denied",
		"metax-gpu-device http: TLS handshake error", "metax-gpu-device stat /dev/dri/card1",
	}, got); diff != "" {
		t.Error(diff)
	}
}
