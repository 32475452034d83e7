package main

import (
	"context"
	"os/exec"
	"time"
)

// engineQuestions are what a snapshot keeps of engines and their tools.
var engineQuestions = [][]string{
	{"docker", "--version"},
	{"docker", "info", "--format", "{{json .}}"},
	{"containerd", "--version"},
	{"containerd", "config", "dump"},
	{"crio", "--version"},
	{"podman", "--version"},
	{"nerdctl", "--version"},
	{"runc", "--version"},
	{"crun", "--version"},
}

// patienceWithEngine is how long an engine may take to answer.
const patienceWithEngine = 5 * time.Second

// engines asks those that are installed; of another root's host nobody can be asked.
func (r *recorder) engines(ctx context.Context) {
	if !r.root.Real() {
		return
	}
	for _, argv := range engineQuestions {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, patienceWithEngine)
		out, err := runChild(bounded, path, argv[1:]...)
		cancel()
		r.record(argv, out, err)
	}
}
