// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// What a command does with a node that is not a host: it answers, or it says in one
// sentence why it cannot. Patterns are of standard output and standard error together.
const (
	needsOne = `^metax-ctk: [a-z -]+ needs a host; .* is a (simulated node|snapshot|file)(; .*)?\n$`
	noFiles  = `^metax-ctk: node ".*" has no files, so it has no MXMACA to look at\n$`
	noNodes  = `^metax-ctk: node ".*" has no device nodes, which a CDI spec needs; .*\n$`
	noEngine = `^metax-ctk: node ".*" has no engines that could be set up; leave out --node\n$`
)

// nodeCase is a command line of a command, and what it says of each kind of node: "any" if
// all say the same.
type nodeCase struct {
	args string
	said map[string]string
}

func sayAny(args, pattern string) nodeCase { return nodeCase{args, map[string]string{"any": pattern}} }

// everyNode has a case for each command.
func everyNode(spec, dir string) map[string]nodeCase {
	return map[string]nodeCase{
		"device list":       sayAny("", `(?m)^7 .*domain 2`),
		"topology print":    sayAny("--busy none", `(?m)^GPU7 +NODE .* MX +X `),
		"topology score":    sayAny("4", `(?m)^best answer: +GPUs 0,1,2,3$`),
		"pick":              sayAny("4", `^0,1,2,3\n$`),
		"health":            sayAny("", `(?m)^7 .* healthy `),
		"wait":              sayAny("4 --timeout 0s", `(?m)^0,1,2,3$`),
		"top":               sayAny("--once", `(?m)^7 `),
		"ps":                sayAny("", `(?m)^7 +free `),
		"lease list":        sayAny("", `(?m)^ID +GPUS `),
		"lease release":     sayAny("x", needsOne),
		"lease gc":          sayAny("", needsOne),
		"lease init":        sayAny("", needsOne),
		"sgpu list":         sayAny("", `(?m)^GPU +KIND `),
		"sgpu create":       sayAny("0 --compute 10 --vram 4G", needsOne),
		"sgpu remove":       sayAny("x", needsOne),
		"cdi generate":      {"--output -", map[string]string{"any": `"/dev/dri/renderD135"`, "matrix": noNodes}},
		"cdi list":          {"", map[string]string{"any": needsOne, "snapshot": `(?m)^metax-tech.com/gpu=7$`}},
		"cdi check":         {"", map[string]string{"any": needsOne, "snapshot": `(?m)^/var/run/cdi/metax-tech.com-gpu.json: up to date$`}},
		"cdi diff":          {"", map[string]string{"any": needsOne, "snapshot": `^(metax-ctk: warning: .*\n)*$`}},
		"cdi check FILE":    {spec, map[string]string{"any": `(?m)^\+ device 0000:38:00.0$`, "matrix": noNodes}},
		"cdi diff FILE":     {spec, map[string]string{"any": `(?m)^\+ device 0000:38:00.0$`, "matrix": noNodes}},
		"maca list":         {"", map[string]string{"any": noFiles, "snapshot": `(?m)^maca +3.3.0.15 `}},
		"maca check":        {"", map[string]string{"any": noFiles, "snapshot": `no problem found`}},
		"runtime configure": sayAny("--dry-run --engine docker", noEngine),
		"setup":             sayAny("--dry-run", noEngine),
		"runtime witness":   sayAny("", ``), // the container in which it runs
		"doctor":            {"", map[string]string{"any": needsOne, "snapshot": ` checks, \d+ finding`}},
		"snapshot":          sayAny("", needsOne),
		"bugreport":         sayAny("", needsOne),
		"config show":       sayAny("node", ``),
		"config set":        sayAny("--dry-run --file "+dir+"/config.toml gpus.policy=binpack", ``),
		"config unset":      sayAny("--dry-run --file "+dir+"/config.toml gpus.policy", ``),
		"config default":    sayAny("", `gpus`),
		"config validate":   sayAny("/dev/null", ``),
		"sim list":          sayAny("", `(?m)^c500-8 `),
		"sim create":        sayAny("c500-4-degraded "+dir, `: 4 GPUs below `),
		"completion":        sayAny("bash", `complete`),
		"version":           sayAny("", `^metax-ctk `),
	}
}

// leaves are the names of the commands without commands of their own.
func leaves(prefix string, commands []*cli.Command) (names []string) {
	for _, c := range commands {
		name := strings.TrimSpace(prefix + " " + c.Name)
		if len(c.Subcommands) > 0 {
			names = append(names, leaves(name, c.Subcommands)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// TestEveryNode runs every command on every kind of node.
func TestEveryNode(t *testing.T) {
	root, _ := simulated(t, "c500-8", nil)
	if code, _, said := ctk(t, deps{Run: child.Tool}, "--root", root, "cdi", "generate", "--class", "gpu", "--engine-root", "/"); code != 0 {
		t.Fatal(said)
	}
	spec := filepath.Join(t.TempDir(), "spec.json")
	if code, _, said := ctk(t, deps{}, "--node", "c500-8-pcie", "cdi", "generate", "--output", spec); code != 0 {
		t.Fatal(said)
	}
	snapshot, _ := taken(t, deps{Run: child.Tool}, root)
	save := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		testfile.Write(t, file, text, 0o644)
		return file
	}
	output := func(args ...string) string {
		code, out, said := ctk(t, deps{}, append([]string{"--node", "c500-8"}, args...)...)
		if code != 0 {
			t.Fatal(said)
		}
		return out
	}
	for kind, where := range map[string]string{
		"simulated": "c500-8",
		"JSON":      save("node.json", output("device", "list", "-o", "json")),
		"snapshot":  snapshot,
		"matrix":    save("matrix.txt", output("topology", "print")),
	} {
		cases := everyNode(spec, filepath.Join(t.TempDir(), "new"))
		for _, name := range leaves("", toolkit{}.app().Commands) {
			if _, ok := cases[name]; !ok {
				t.Errorf("no case for %s", name)
			}
		}
		for name, c := range cases {
			args := append(strings.Fields(strings.TrimSuffix(name, " FILE")), strings.Fields(c.args)...)
			want, ok := c.said[kind]
			if !ok {
				want = c.said["any"]
			}
			code, out, said := ctk(t, deps{}, append([]string{"--node", where}, args...)...)
			if all := out + said; !regexp.MustCompile(want).MatchString(all) {
				t.Errorf("%s on a node of kind %s: exit code %d, it says\n%.600s\nwant %s", name, kind, code, all, want)
			}
			if refused := strings.HasPrefix(want, "^metax-ctk: "); refused != (code == 2 && out == "") {
				t.Errorf("%s on a node of kind %s: exit code %d with output %.80q", name, kind, code, out)
			}
		}
	}
}
