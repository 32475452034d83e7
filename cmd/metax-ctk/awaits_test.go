// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// awaits waits until a file that a command in the background writes matches a pattern: awaits
// FILE PATTERN. It ends as soon as that is so; the limit is only there for a script that would
// wait forever.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaits FILE PATTERN")
	}
	want := regexp.MustCompile("(?m)" + args[1])
	var text []byte
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, _ = os.ReadFile(ts.MkAbs(args[0])); want.Match(text) {
			return
		}
	}
	ts.Fatalf("%s does not come to match %q:\n%s", args[0], args[1], text)
}
