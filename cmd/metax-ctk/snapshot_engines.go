package main

import (
	"context"
	"os/exec"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// engineQuestions are what a snapshot keeps of engines and their tools.
var engineQuestions = []struct {
	argv   []string
	format scrub.Format
}{
	{[]string{"docker", "version", "--format", "{{json .}}"}, scrub.JSON},
	{[]string{"docker", "info", "--format", "{{json .}}"}, scrub.JSON},
	{[]string{"containerd", "--version"}, scrub.Plain},
	{[]string{"containerd", "config", "dump"}, scrub.TOML},
	{[]string{"crio", "--version"}, scrub.Plain},
	{[]string{"podman", "--version"}, scrub.Plain},
	{[]string{"nerdctl", "--version"}, scrub.Plain},
	{[]string{"runc", "--version"}, scrub.Plain},
	{[]string{"crun", "--version"}, scrub.Plain},
}

// patienceWithEngine is how long an engine may take to answer.
const patienceWithEngine = 5 * time.Second

// engines asks those that are installed; of another root's host nobody can be asked.
func (r *recorder) engines(ctx context.Context) {
	if !r.root.Real() {
		return
	}
	for _, q := range engineQuestions {
		path, err := exec.LookPath(q.argv[0])
		if err != nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, patienceWithEngine)
		out, err := runChild(bounded, path, q.argv[1:]...)
		cancel()
		r.record(q.format, q.argv, out, err)
	}
}
