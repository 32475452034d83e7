// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// run logs one line of each level by command line arguments, and returns standard output.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{
		Name: "metax-gpu-device", Flags: Flags("metax-gpu-device"), Writer: &bytes.Buffer{}, ErrWriter: &bytes.Buffer{},
		ExitErrHandler: func(*cli.Context, error) {},
		Action: func(c *cli.Context) error {
			log, closer, err := New(c, "metax-gpu-device", &out)
			if err != nil {
				return err
			}
			for i, level := range slogLevels {
				log.Log(t.Context(), level, levels[i]+" line\x1b")
			}
			return closer.Close()
		},
	}
	err := app.Run(append([]string{"x"}, args...))
	return regexp.MustCompile(`"?time"?[=:]\S*?[ ,]`).ReplaceAllString(out.String(), ""), err
}

func TestLevelsAndFormats(t *testing.T) {
	dir := trusted.Dir(t)
	for level, want := range map[string]int{"debug": 5, "info": 4, "warning": 3, "error": 2, "fatal": 1} {
		out, err := run(t, "--log-dir", dir, "--log-level", level)
		if got := strings.Count(out, "\n"); err != nil || got != want {
			t.Errorf("%s: %v, %d lines, want %d", level, err, got, want)
		}
	}
	out, err := run(t, "--log-dir=", "--log-level=fatal")
	if want := `{"level":"fatal","msg":"fatal line\u001b","program":"metax-gpu-device"}` + "\n"; err != nil || out != want {
		t.Errorf("%v: %s", err, out)
	}
	out, err = run(t, "--log-dir=", "--log-level=fatal", "--log-format=text")
	if want := `level=fatal msg="fatal line\x1b" program=metax-gpu-device` + "\n"; err != nil || out != want {
		t.Errorf("%v: %s", err, out)
	}
	t.Setenv("METAX_GPU_DEVICE_LOG_LEVEL", "error")
	if out, err := run(t, "--log-dir="); err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%v: no files", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if err != nil || strings.Count(string(text), "\n") != 15 && len(entries) == 1 {
		t.Errorf("%v: %s", err, text)
	}
}

// TestVersion: the log begins with the version of a program that has one.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	app := &cli.App{Name: "metax-gpu-device", Version: "1.2.3", Flags: Flags("metax-gpu-device"), Action: func(c *cli.Context) error {
		_, closer, err := New(c, "metax-gpu-device", &out)
		if err != nil {
			return err
		}
		return closer.Close()
	}}
	if err := app.Run([]string{"x", "--log-dir="}); err != nil || !strings.Contains(out.String(), `"msg":"started","program":"metax-gpu-device","version":"1.2.3"`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestBadFlags(t *testing.T) {
	for _, flag := range []string{
		"--log-level=warn", "--log-level=", "--log-format=xml", "--log-rotation-time=1m", "--log-rotation-time=0w",
		"--log-rotation-time=", "--log-max-age=w", "--log-max-age=-1w", "--log-max-age=99999999w", "--log-max-age=1.5d",
	} {
		if _, err := run(t, "--log-dir=", flag); err == nil || !strings.Contains(err.Error(), strings.SplitN(flag, "=", 2)[0]) {
			t.Errorf("%s: error is %v", flag, err)
		}
	}
}

// TestUnwritable: the program goes on, and says once why there is no file.
func TestUnwritable(t *testing.T) {
	file := filepath.Join(trusted.Dir(t), "file")
	testfile.Write(t, file, "", 0o600)
	out, err := run(t, "--log-dir", file+"/dir")
	if err != nil || strings.Count(out, "the log goes to standard output only") != 1 || strings.Count(out, "\n") != 5 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestRotation(t *testing.T) {
	dir := trusted.Dir(t)
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC) // a Monday; weeks begin on Thursday
	for _, name := range []string{"other.2020-01-02T00Z.log", "metax-gpu-device.x.log", "metax-gpu-device.2020-01-02T00Z.txt"} {
		testfile.Write(t, filepath.Join(dir, name), "", 0o600)
	}
	line := func(text string) {
		t.Helper()
		f := &files{dir: dir, program: "metax-gpu-device", rotation: 7 * 24 * time.Hour, maxAge: 14 * 24 * time.Hour, now: func() time.Time { return now }}
		if err := f.write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for range 5 {
		line("a")
		now = now.Add(24 * time.Hour)
		line("b")
		now = now.Add(6 * 24 * time.Hour)
	}
	entries, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, _ := os.ReadFile(e)
		got = append(got, filepath.Base(e)+" "+string(text))
	}
	want := []string{
		"metax-gpu-device.2020-01-02T00Z.txt ",
		"metax-gpu-device.2026-12-03T00Z.log ab",
		"metax-gpu-device.2026-12-10T00Z.log ab",
		"metax-gpu-device.2026-12-17T00Z.log ab",
		"metax-gpu-device.x.log ",
		"other.2020-01-02T00Z.log ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOneFileGoesOn writes through one writer across the end of a period.
func TestOneFileGoesOn(t *testing.T) {
	dir := trusted.Dir(t)
	now := time.Unix(0, 0)
	f := &files{dir: dir, program: "p", rotation: time.Hour, maxAge: time.Hour, now: func() time.Time { return now }}
	w := &writer{out: &bytes.Buffer{}, files: f, say: func(err error) { t.Error(err) }}
	log := slog.New(newHandler(w, slog.LevelInfo, "json"))
	log.Info("one")
	now = now.Add(time.Hour)
	log.Info("two")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(f.name(now))
	if err != nil || !strings.Contains(string(text), `"two"`) || strings.Contains(string(text), "one") {
		t.Errorf("%v: %s", err, text)
	}
}
