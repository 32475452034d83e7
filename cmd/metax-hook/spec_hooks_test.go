// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/hook"
)

// TestMain lets the test's program stand in for the child of runSpecHooks: it prints its
// arguments, one a line. The last one says how it ends.
func TestMain(m *testing.M) {
	if os.Args[0] != "metax-hook" {
		os.Exit(m.Run())
	}
	end := len(os.Args) - 1
	for _, line := range os.Args[1:end] {
		fmt.Println(line)
	}
	switch os.Args[end] {
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "fails":
		os.Exit(1)
	}
	os.Exit(0)
}

func TestRunSpecHooks(t *testing.T) {
	for _, c := range []struct {
		child   []string
		printed string
		want    string // after "a hook of the CDI spec failed: "
	}{
		{[]string{"done"}, "", ""},
		{[]string{"metax-hook: a warning", "done"}, "metax-hook: a warning\n", ""},
		{[]string{"metax-hook: a warning", "metax-hook: no root", "fails"}, "metax-hook: a warning\n", "no root"},
		{[]string{"killed"}, "", "signal: killed"},
		{[]string{"fails"}, "", "exit status 1"},
	} {
		var printed strings.Builder
		j := &job{err: &printed}
		err := j.runSpecHooks(&hook.State{}, c.child)
		if printed.String() != c.printed {
			t.Errorf("%q prints %q", c.child, printed.String())
		}
		switch {
		case c.want == "" && err != nil, c.want != "" && !errors.Is(err, errHooks):
			t.Errorf("%q returns %v", c.child, err)
		case err != nil && err.Error() != "a hook of the CDI spec failed: "+c.want:
			t.Errorf("%q returns %q", c.child, err)
		}
	}
}
