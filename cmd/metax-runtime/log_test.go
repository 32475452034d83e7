// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// TestLog: a log tells what was requested, what was done and what is run; of calls that make
// no container it tells nothing.
func TestLog(t *testing.T) {
	dir := scene(t, asking)
	configure := func(text string) {
		write(t, dir+"/config.toml", read(t, dir+"/config.toml")+text)
	}
	args := []string{"create", "--bundle", dir + "/bundle", "x"}
	became(t, args, []string{"SECRET=geheim"})
	if _, err := os.Stat(dir + "/events"); err == nil {
		t.Fatal("there is a log by default")
	}
	configure("[log]\nlevel = 'info'\nfile = '" + dir + "/events'\n")
	write(t, dir+"/bundle/config.json", asking)
	became(t, []string{"state", "x"}, nil)
	became(t, args, []string{"SECRET=geheim"})
	var got []string
	for line := range strings.Lines(read(t, dir+"/events")) {
		_, message, _ := strings.Cut(line, "msg=")
		got = append(got, message)
	}
	for i, want := range []string{"the container requests devices", "the configuration is edited", "become the low-level runtime", "the container does not start"} {
		if i >= len(got) || !strings.HasPrefix(got[i], `"`+want) || len(got) != 4 {
			t.Fatalf("want %q, got %q", want, got)
		}
	}
	if text := strings.Join(got, ""); strings.Contains(text, "geheim") || !strings.Contains(text, "metax-tech.com/gpu=0") || !strings.Contains(text, "specs=["+dir+"/cdi/") {
		t.Errorf("%s", text)
	}
}

// TestLogIgnored: a log says why the variable gave no GPU.
func TestLogIgnored(t *testing.T) {
	dir := scene(t, `{"ociVersion": "1.0.2", "process": {"env": ["METAX_VISIBLE_DEVICES=1"]}, "linux": {}}`)
	write(t, dir+"/config.toml", read(t, dir+"/config.toml")+"[log]\nlevel = 'warn'\nfile = '"+dir+"/events'\n")
	became(t, []string{"create", "--bundle", dir + "/bundle", "x"}, nil)
	if text := read(t, dir+"/events"); strings.Count(text, "METAX_VISIBLE_DEVICES gives no GPU") != 1 || !strings.Contains(text, `ignored="[metax-tech.com/gpu=1]"`) {
		t.Errorf("%s", text)
	}
}

// TestLogFails: a log that cannot be written changes nothing of the start, and is said in the
// engine's log.
func TestLogFails(t *testing.T) {
	dir := scene(t, quiet)
	write(t, dir+"/config.toml", read(t, dir+"/config.toml")+"[log]\nlevel = 'info'\nfile = '"+dir+"/none/events'\n")
	words, said := became(t, []string{"--log", dir + "/engine", "create", "--bundle", dir + "/bundle", "x"}, nil)
	if words == nil || strings.Contains(said, "no log is written") {
		t.Errorf("became %q, said %q", words, said)
	}
	if text := read(t, dir+"/engine"); strings.Count(text, `level=warning msg="metax-runtime: no log is written: open log.file`) != 1 {
		t.Errorf("the engine's log is %q", text)
	}
}
