// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/completion"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// shell does what a shell needs to complete a command line; ok is false for any other
// command line, which is docker's.
func (w *wrapper) shell() (ok bool, err error) {
	switch {
	case len(w.Args) == 2 && w.Args[0] == "completion":
		script, ok := completion.Script(w.Args[1], "metax-docker")
		if ok {
			_, err = fmt.Fprint(w.Out, script)
		}
		return ok, err
	case len(w.Args) > 1 && slices.Contains(completion.Verbs, w.Args[0]):
		last := len(w.Args) - 1
		return true, completion.Print(w.Out, w.complete(w.Args[1:last], w.Args[last]), w.Args[0] == completion.Verbs[0])
	}
	return false, nil
}

// complete returns what the unfinished word may be: what docker says, and the options
// that docker does not have.
func (w *wrapper) complete(words []string, current string) completion.Answer {
	u := dockerargs.Complete(words, dockerargs.Docker())
	if u.Value != "" {
		return valuesOf(selector(w.settings), u.Value, current)
	}
	if option, value, ok := strings.Cut(current, "="); ok && u.Options.Has(strings.TrimPrefix(option, "--")) {
		return valuesOf(selector(w.settings), option[len("--"):], value).Behind(option+"=", 0)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	// no docker, no words of docker
	text, _ := w.output(ctx, w.client.path, slices.Concat([]string{completion.Verbs[0]}, u.Words, []string{current})...)
	docker := completion.Parse(string(text))
	if option, _, ok := strings.Cut(current, "="); ok && strings.HasPrefix(current, "-") {
		return docker.Behind(option+"=", 0)
	}
	if !strings.HasPrefix(current, "-") {
		return docker
	}
	var own []completion.Candidate
	for _, o := range u.Options {
		own = append(own, completion.Candidate{Word: "--" + o.Name, Help: optionHelp(o.Name)})
	}
	docker.Candidates = slices.DeleteFunc(docker.Candidates, func(c completion.Candidate) bool {
		return u.Options.Has(strings.TrimPrefix(c.Word, "--"))
	})
	docker.Candidates = append(completion.From(current, own).Candidates, docker.Candidates...)
	docker.Directive |= completion.NoFiles
	return docker
}

// optionHelp returns the first line of an option's description in the help: the text behind
// two blanks, which may begin on the next line.
func optionHelp(name string) string {
	_, rest, _ := strings.Cut(help, "\n  --"+name)
	_, text, _ := strings.Cut(strings.TrimPrefix(rest, "[=VERSION]"), "  ")
	text, _, _ = strings.Cut(strings.TrimLeft(text, " "), "\n")
	return strings.Trim(text, " ,;")
}

// valuesOf returns the values of an option of metax-docker.
func valuesOf(at node.Selector, option, current string) completion.Answer {
	switch option {
	case "gpus":
		return gpuWords(current, nodeGPUs(at))
	case "gpus-log-level":
		return completion.From(current, completion.Words(dockerargs.LogLevels...))
	case "gpus-policy":
		return completion.From(current, completion.Names(alloc.Policies()))
	case "gpus-scope":
		return completion.From(current, completion.Names(key.Scopes))
	case "gpus-sizes":
		return completion.From(current, completion.Names([]alloc.SizeRule{alloc.Warn, alloc.Off, alloc.Enforce}))
	case "gpus-wait":
		return completion.From(current, completion.Words("30s", "10m", "2h"))
	case "inject":
		return completion.From(current, completion.Words(dockerargs.InjectAuto, dockerargs.InjectCDI, dockerargs.InjectFlags))
	case "maca", "maca-force":
		return completion.From(current, completion.Words(macaVersions(at)...))
	case "maca-check":
		return completion.From(current,
			completion.Words(dockerargs.MACACheckWarn, dockerargs.MACACheckStrict, dockerargs.MACACheckOff))
	}
	return completion.Answer{Directive: completion.NoFiles}
}

// nodeGPUs are the GPUs of the node; none if it cannot be read.
func nodeGPUs(at node.Selector) []gpu.GPU {
	n, err := at.Load(context.Background())
	if err != nil {
		return nil
	}
	return n.GPUs
}

// macaVersions are the versions of MXMACA on the host; none if it cannot be read.
func macaVersions(at node.Selector) []string {
	host, err := hostfs.New(at.Root)
	if err != nil || !at.IsHost() {
		return nil
	}
	return maca.List(host, "").Versions()
}

// gpuWords are values of --gpus: counts, and docker's device= with a list of GPUs, or a
// list alone.
func gpuWords(current string, gpus []gpu.GPU) completion.Answer {
	const device = "device="
	if list, ok := strings.CutPrefix(current, device); ok {
		return completion.List(list, completion.GPUs(list, gpus)).Behind(device, 0)
	}
	if strings.ContainsAny(current, "[,") || strings.HasPrefix(current, "GPU-") {
		return completion.List(current, completion.GPUs(current, gpus))
	}
	words := []completion.Candidate{{Word: "all", Help: "every healthy GPU"}}
	for n := range len(gpus) {
		words = append(words, completion.Candidate{Word: strconv.Itoa(n + 1), Help: "GPUs that belong together"})
	}
	for _, g := range completion.GPUs("", gpus) {
		words = append(words, completion.Candidate{Word: device + g.Word, Help: g.Help})
	}
	for _, g := range gpus {
		for _, s := range g.Slices {
			words = append(words,
				completion.Candidate{Word: "sgpu:" + s.Name(), Help: "a slice of GPU " + strconv.Itoa(g.Index)})
		}
	}
	return completion.From(current, words)
}
