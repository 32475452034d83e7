// SPDX-License-Identifier: Apache-2.0

// Package scripts has commands for testscript.
package scripts

import "github.com/rogpeppe/go-internal/testscript"

// Exits runs a command and demands one exit code: exits CODE COMMAND...
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = err.Error()[len("exit status "):]
	}
	if code != args[0] {
		ts.Fatalf("%v: exit code %s, want %s", args[1:], code, args[0])
	}
}
