// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/completion"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish",
		Action: func(c *cli.Context) error {
			script, ok := completion.Script(c.Args().First(), "metax-ctk")
			if !ok {
				return usageErrorf("name a shell: bash, zsh or fish (got %q)%s", c.Args().First(),
					wording.Meant(c.Args().First(), "bash", "zsh", "fish"))
			}
			_, err := io.WriteString(t.Out, script)
			return err
		},
	}
}

// unfinished is a command line whose last word a shell completes.
type unfinished struct {
	flags    []cli.Flag     // of all commands that are named
	commands []*cli.Command // that may follow
	usage    string         // of the arguments
	args     []string       // before the last word
	given    map[string]string
}

// completeWord returns what the last word may be. It runs no command.
func (t toolkit) completeWord(app *cli.App, words []string) completion.Answer {
	last := len(words) - 1
	current, words := words[last], words[:last]
	u := unfinished{flags: app.Flags, commands: app.Commands, given: map[string]string{}}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if !isOption(word) {
			if c := findCommand(u.commands, word); c != nil && len(u.args) == 0 {
				u.flags, u.commands, u.usage = slices.Concat(c.Flags, u.flags), c.Subcommands, c.ArgsUsage
			} else {
				u.args = append(u.args, word)
			}
			continue
		}
		name, value, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
		f := u.option(name)
		if f == nil || !takesValue(f) {
			continue
		}
		if !inline && len(words) == 0 {
			return t.valuesOf(u, f, current)
		} else if !inline {
			value, words = words[0], words[1:]
		}
		u.given[f.Names()[0]] = value
	}
	option, value, inline := strings.Cut(current, "=")
	f := u.option(strings.TrimLeft(option, "-"))
	switch {
	case inline && isOption(current) && f != nil:
		return t.valuesOf(u, f, value).Behind(option+"=", 0)
	case strings.HasPrefix(current, "-"):
		return completion.From(current, append(u.options(), completion.Candidate{Word: "--help", Help: "show help"}))
	case len(u.commands) > 0:
		var commands []completion.Candidate
		for _, c := range u.commands {
			commands = append(commands, completion.Candidate{Word: c.Name, Help: c.Usage})
		}
		return completion.From(current, commands)
	}
	usage := strings.Fields(u.usage)
	if len(usage) == 0 {
		return completion.Answer{Directive: completion.NoFiles}
	}
	argument := strings.Trim(usage[min(len(u.args), len(usage)-1)], "[].")
	return t.values(u, argument, argument, current)
}

// option returns the option of that name, which may be NVIDIA's name for it; nil if it does
// not exist.
func (u unfinished) option(name string) cli.Flag {
	return cmp.Or(findFlag(u.flags, name), findFlag(u.flags, habits[name]))
}

// options are those that help shows.
func (u unfinished) options() (all []completion.Candidate) {
	for _, f := range u.flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		text := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			text = strings.ReplaceAll(d.GetUsage(), "`", "")
		}
		all = append(all, completion.Candidate{Word: "--" + f.Names()[0], Help: text})
	}
	return all
}

// valuesOf returns the words that may be the value of an option.
func (t toolkit) valuesOf(u unfinished, f cli.Flag, current string) completion.Answer {
	kind := ""
	if d, ok := f.(cli.DocGenerationFlag); ok {
		_, kind, _ = strings.Cut(d.GetUsage(), "`")
		kind, _, _ = strings.Cut(kind, "`")
	}
	return t.values(u, f.Names()[0], kind, current)
}

// values returns the words that may be the value of an option, by its name and the word
// for its value in the help, or an argument, which is such a word. For FILE, DIR and PATH
// the shell offers files.
func (t toolkit) values(u unfinished, name, kind, current string) completion.Answer {
	if words, ok := t.hostWords(u, name, current); ok {
		return words
	}
	switch name {
	case "node":
		return withFiles(completion.From(current, completion.Words(append([]string{node.Host}, sim.Names()...)...)))
	case "ignore":
		return completion.List(current, completion.Words(health.Codes...))
	case "policy":
		return completion.From(current, completion.Names(alloc.Policies()))
	case "scope":
		return completion.From(current, completion.Names(key.Scopes))
	case "check", "skip":
		var ids []completion.Candidate
		for _, c := range doctor.Checks() {
			ids = append(ids, completion.Candidate{Word: c.ID, Help: c.Title})
		}
		return completion.List(current, ids)
	case "KEY":
		return completion.From(current, settingKeys(""))
	case "KEY=VALUE":
		if option, value, ok := strings.Cut(current, "="); ok {
			s, _ := config.Find(option)
			return completion.From(value, completion.Words(s.Choices()...)).Behind(option+"=", 0)
		}
		return completion.From(current, settingKeys("=")).Behind("", completion.NoSpace)
	case "device-name-strategy":
		return completion.List(current, completion.Words("index", "uuid", "bdf", "all"))
	case "output-format":
		formats, _ := formatsOf(&cli.Command{Flags: u.flags})
		return completion.From(current, completion.Words(formats...))
	case "format":
		if findFlag(u.flags, "pick") != nil {
			return completion.From(current, completion.Words("matrix", "tree", "svg"))
		}
		return completion.From(current, completion.Words("json", "yaml"))
	}
	words := map[string][]string{ // that depend on nothing
		"sizes": {"warn", "off", "enforce"}, "weights": {"kind", "bandwidth"},
		"source": {"lease", "docker", "containerd", "podman", "cri-o", "kubernetes", "processes"},
		"qos":    {"fixed-share", "best-effort", "burst-share"}, "vendor": {"metax-tech.com"},
		"class":         {"gpu", "sgpu", "maca"},
		"bash|zsh|fish": {"bash", "zsh", "fish"}, "NODE": sim.Names(), "log-level": config.LogLevels,
		"log-format": config.LogFormats,
		"engine":     append(setup.Names(), "auto"),
	}[name]
	answer := completion.From(current, completion.Words(words...))
	if slices.Contains([]string{"FILE", "DIR", "PATH"}, kind) {
		return withFiles(answer)
	}
	return answer
}

// hostWords are the values that depend on the host: GPUs, slices, leases, installations of
// MXMACA.
func (t toolkit) hostWords(u unfinished, name, current string) (_ completion.Answer, ok bool) {
	switch name {
	case "free", "require":
		return t.gpuList(u, current, "all"), true
	case "busy":
		return t.gpuList(u, current, "all", "none"), true
	case "exclude", "gpu":
		return t.gpuList(u, current), true
	case "GPU":
		return completion.From(current, completion.GPUs(current, t.gpus(u))), true
	case "SLICE":
		var words []completion.Candidate
		for _, g := range t.gpus(u) {
			for _, s := range g.Slices {
				words = append(words, completion.Candidate{Word: s.Name(), Help: "of GPU " + g.BDF.String()})
			}
		}
		return completion.From(current, words), true
	case "ID":
		return completion.From(current, completion.Words(t.leaseIDs(u)...)), true
	case "VERSION":
		return completion.From(current, completion.Words(t.macaVersions(u)...)), true
	}
	return completion.Answer{}, false
}

// withFiles lets the shell offer files where no word fits.
func withFiles(a completion.Answer) completion.Answer {
	a.Directive &^= completion.NoFiles
	return a
}

// selected is the node that the line names.
func (u unfinished) selected(configured config.Config) node.Selector {
	return node.Selector{
		Node: cmp.Or(u.given["node"], os.Getenv("METAX_CTK_NODE"), configured.Node.Text),
		Root: cmp.Or(u.given["root"], os.Getenv("METAX_CTK_ROOT"), configured.Root.Text),
	}
}

// gpus are those of the node; none if it cannot be read.
func (t toolkit) gpus(u unfinished) []gpu.GPU {
	n, err := u.selected(t.settings).Load(context.Background())
	if err != nil {
		return nil
	}
	return n.GPUs
}

// gpuList completes a list of GPUs, or one of the words that stand alone.
func (t toolkit) gpuList(u unfinished, current string, alone ...string) completion.Answer {
	candidates := completion.GPUs(current, t.gpus(u))
	if !strings.ContainsAny(current, "[,") {
		candidates = append(candidates, completion.Words(alone...)...)
	}
	return completion.List(current, candidates)
}

// leaseIDs are those of the host's leases and of the requests that wait; none if they cannot
// be read.
func (t toolkit) leaseIDs(u unfinished) (ids []string) {
	at := u.selected(t.settings)
	k, err := assign.New(assign.Config{Root: at.Root})
	if err != nil || !at.IsHost() {
		return nil
	}
	state, _ := k.Ledger.Read() // the state is empty after an error
	for _, l := range state.Leases {
		ids = append(ids, l.ID)
	}
	for _, r := range state.Queue {
		ids = append(ids, r.ID)
	}
	return ids
}

// macaVersions are the versions of MXMACA on the host; none if it cannot be read.
func (t toolkit) macaVersions(u unfinished) []string {
	at := u.selected(t.settings)
	host, err := hostfs.New(at.Root)
	if err != nil || !at.IsHost() {
		return nil
	}
	return maca.List(host, cmp.Or(u.given["maca-path"], os.Getenv("MACA_PATH"))).Versions()
}

// settingKeys are the keys of the configuration file, each with an end.
func settingKeys(end string) (keys []completion.Candidate) {
	none := func(string) (string, bool) { return "", false }
	// nothing can be wrong with the defaults
	all, _ := config.Show(config.Path, nil, func(string) string { return "" }, none)
	for _, s := range all {
		keys = append(keys, completion.Candidate{Word: s.Key + end})
	}
	return keys
}
