// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new terminal of that many columns.
func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}); err != nil {
		t.Fatal(err)
	}
	return master, terminal
}

// onTerminal runs a command line whose output is a terminal.
func onTerminal(t *testing.T, columns uint16, args ...string) (out, stderr string) {
	t.Helper()
	master, terminal := openTerminal(t, columns)
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // fails with EIO once the terminal is closed
		read <- string(text)
	}()
	var errors bytes.Buffer
	code := runCommandLine(t.Context(), append([]string{"metax-ctk"}, args...), deps{Out: terminal, Err: &errors})
	terminal.Close()
	if out = <-read; code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, errors.String())
	}
	return strings.ReplaceAll(out, "\r\n", "\n"), errors.String()
}

// TestNarrowTerminal prints the tree where the matrix does not fit, and says so.
func TestNarrowTerminal(t *testing.T) {
	const note = "metax-ctk: this is the tree, because the matrix needs 147 columns and this terminal has 80 (the matrix: --format matrix)\n"
	line := []string{"--node", "c500-8", "topology", "print", "--busy", "none"}
	for _, c := range []struct {
		columns uint16
		args    []string
		tree    bool
	}{
		{80, nil, true},
		{200, nil, false},
		{0, nil, false}, // the terminal does not know its width
		{80, []string{"--format", "matrix"}, false},
	} {
		out, stderr := onTerminal(t, c.columns, append(line, c.args...)...)
		want := map[bool]string{true: note}[c.tree]
		if strings.Contains(out, "├─") != c.tree || strings.Contains(out, "Node Affinity") == c.tree || stderr != want {
			t.Errorf("%d columns, %v: stderr %q, output\n%s", c.columns, c.args, stderr, out)
		}
	}
	if out, stderr := onTerminal(t, 40, append(line, "-o", "json")...); !strings.HasPrefix(out, "{") || stderr != "" {
		t.Errorf("-o json: %s%s", stderr, out)
	}
}

// TestColors colors marks on a terminal alone, and not where NO_COLOR or TERM=dumb forbids
// it.
func TestColors(t *testing.T) {
	line := []string{"--node", "c500-8-degraded", "topology", "print", "--busy", "4", "--pick", "2", "--format", "tree"}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	out, _ := onTerminal(t, 200, line...)
	for _, want := range []string{"\x1b[33min use\x1b[0m\n", "\x1b[32mpicked\x1b[0m\n", "\x1b[31munhealthy\x1b[0m\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%q", want, out)
		}
	}
	var plain bytes.Buffer
	runCommandLine(t.Context(), append([]string{"metax-ctk"}, line...), deps{Out: &plain, Err: io.Discard})
	for _, env := range []struct{ name, value string }{{"NO_COLOR", "1"}, {"TERM", "dumb"}} {
		t.Run(env.name, func(t *testing.T) {
			t.Setenv(env.name, env.value)
			if out, _ := onTerminal(t, 200, line...); out != plain.String() || strings.Contains(out, "\x1b") {
				t.Errorf("output\n%q", out)
			}
		})
	}
	if svg, _ := onTerminal(t, 200, append(line[:4:4], "--format", "svg")...); strings.Contains(svg, "\x1b") {
		t.Error("the picture has colors of a terminal")
	}
}

func TestPaint(t *testing.T) {
	for in, want := range map[string]string{
		"GPU0  X  0  picked, unhealthy\n":                   "GPU0  X  0  \x1b[31mpicked, unhealthy\x1b[0m\n",
		"GPU0  X  0  in use by container picked (docker)\n": "GPU0  X  0  \x1b[33min use by container picked (docker)\x1b[0m\n",
		"GPU0  X  0\n":          "GPU0  X  0\n",
		"MetaXLink down: 0-1":   "\x1b[31mMetaXLink down: 0-1\x1b[0m",
		"chosen 0,1 over 4,5\n": "chosen 0,1 over 4,5\n",
		"picked\n":              "picked\n",
	} {
		if got := colorMarks(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
