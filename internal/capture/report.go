// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
)

// BugReport takes a snapshot with two more parts: versions, and what doctor prints.
func (h Host) BugReport(ctx context.Context, printed func() (string, error)) (Taken, error) {
	taken, err := h.Snapshot(ctx)
	if err != nil {
		return taken, err
	}
	text := part(printed)
	if root := taken.from.Root; !root.Real() { // commands on the host itself have no --root
		rooted := doctor.Step{Toolkit: []string{"--root", root.Dir()}}
		text = strings.ReplaceAll(text, rooted.String()+" ", "metax-ctk ")
	}
	taken.Reports = map[string]string{"versions": taken.versions(h.Version), "doctor": taken.from.Scrub.Text(text)}
	return taken, nil
}

// part is what a part of a bug report prints, or why it failed.
func part(printed func() (string, error)) (text string) {
	defer func() {
		if broken := recover(); broken != nil {
			text = fmt.Sprintf("this part is broken: %v\n", broken)
		}
	}()
	text, err := printed()
	if err != nil {
		return fmt.Sprintf("failed: %v\n", err)
	}
	return text
}

// versions are those of the toolkit and of what is below it, as the snapshot has them.
func (t Taken) versions(own string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "metax-ctk %s (%s, %s/%s)\n", own, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, line := range []struct{ what, path string }{
		{"kernel", "proc/sys/kernel/osrelease"},
		{"driver", "sys/module/metax/version"},
	} {
		fmt.Fprintf(&b, "%s: %s\n", line.what, cmp.Or(t.text(line.path), "not known"))
	}
	if name := doctor.PrettyName(cmp.Or(t.text("etc/os-release"), t.text("usr/lib/os-release"))); name != "" {
		fmt.Fprintf(&b, "system: %s\n", name)
	}
	for _, a := range t.Answers {
		if len(a.Argv) != 2 || a.Argv[1] != "--version" {
			continue
		}
		said, _, _ := strings.Cut(strings.TrimSpace(a.Out), "\n")
		if a.Failure != "" {
			said = "failed: " + a.Failure
		}
		fmt.Fprintf(&b, "%s: %s\n", a.Argv[0], said)
	}
	return b.String()
}

// text is what a file of the snapshot holds; empty if it is not there.
func (t Taken) text(path string) string {
	file, _ := t.Tree[path].(hosttree.File)
	return strings.TrimSpace(file.Data)
}
