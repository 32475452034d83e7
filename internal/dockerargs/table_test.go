// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A table is searched by bisection, so it must be sorted.
func TestTablesAreTables(t *testing.T) {
	for name, table := range map[string]Table{
		"global": Docker().Global, "run": Docker().Run, "start": Docker().Start, "options": options(), "options of start": startOptions(),
		"compose": composeProject(), "options of compose": composeOptions(),
	} {
		if msg := invalid(table); msg != "" {
			t.Errorf("%s: %s", name, msg)
		}
	}
}

// invalid returns what is wrong with a table, "" if it is valid.
func invalid(table Table) string {
	letters := map[byte]string{}
	for i, s := range table {
		if i > 0 && table[i-1].Name >= s.Name {
			return table[i-1].Name + " does not come before " + s.Name
		}
		if !isName(s.Name) {
			return "a flag of the name " + s.Name
		}
		if other, ok := letters[s.Short]; ok && s.Short != 0 {
			return "-" + string(s.Short) + " is " + other + " and " + s.Name
		}
		letters[s.Short] = s.Name
	}
	return ""
}

func TestMerge(t *testing.T) {
	base := Table{{"connect", 'c', true}, {"help", 0, false}, {"pull", 'p', true}}
	over := Table{{"config", 'c', true}, {"pull", 'p', false}, {"root", 0, true}}
	want := Table{{"config", 'c', true}, {"connect", 0, true}, {"help", 0, false}, {"pull", 'p', false}, {"root", 0, true}}
	if d := cmp.Diff(want, base.Merge(over)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(base, Table{}.Merge(base)); d != "" {
		t.Errorf("nothing merged with a table is not the table:\n%s", d)
	}
	if d := cmp.Diff(base, base.Merge(nil)); d != "" {
		t.Errorf("a table merged with nothing is not the table:\n%s", d)
	}
}

func TestParseHelp(t *testing.T) {
	tests := []struct {
		name, text string
		want       Table
	}{
		{name: "empty"},
		{
			name: "docker, in a narrow terminal",
			text: `
Usage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]

Aliases:
  docker container run, docker run

Options:
      --add-host list                    Map a host name
                                         (host:ip)
  -a, --attach list                      Attach to a stream, or with
                                         --detach to none
      --blkio-weight uint16              Weight (default 0)
  -d, --detach                           Stay in the background
      --gpus gpu-request                 GPUs to add
      --help                             Print usage
  -P, --publish-all                      Publish everything
      --sysctl map                       Options (default map[])
`,
			want: Table{
				{"add-host", 0, true},
				{"attach", 'a', true},
				{"blkio-weight", 0, true},
				{"detach", 'd', false},
				{"gpus", 0, true},
				{"help", 0, false},
				{"publish-all", 'P', false},
				{"sysctl", 0, true},
			},
		},
		{
			name: "docker, global, with the text on the next line",
			text: "Global Options:\n" +
				"      --config string      Where the configuration is (default\n" +
				"                           \"/root/.docker\")\n" +
				"  -c, --context string     Which context\r\n" +
				"  -v, --version            Print version\n",
			want: Table{{"config", 0, true}, {"context", 'c', true}, {"version", 'v', false}},
		},
		{
			name: "podman, placeholders of its own",
			text: `Examples:
  podman run --network=host imageID dnf -y install java
  -it is not a flag here

Options:
      --arch ARCH                                use ARCH for choosing images
      --blkio-weight-device DEVICE_NAME:WEIGHT   weight of a device
      --detach-keys [a-Z]                        Keys, one of ` + "`ctrl-<value>`" + `
  -m, --memory <number>[<unit>]                  Memory limit
      --env-host                                 Use the host's variables
      --systemd string                           Run as systemd (default "true")
      --tmpdir string                            Where to put what passes.

                                                 Note: use the environment.
                                                  (default "/run/libpod")
`,
			want: Table{
				{"arch", 0, true},
				{"blkio-weight-device", 0, true},
				{"detach-keys", 0, true},
				{"env-host", 0, false},
				{"memory", 'm', true},
				{"systemd", 0, true},
				{"tmpdir", 0, true},
			},
		},
		{
			name: "nerdctl, global",
			text: `Flags:
  -a, --a string                  Alias of --address (default "/run/containerd/containerd.sock")
      --address string            containerd address
      --debug-full                debug mode (with full output)
      --hosts-dir strings         Directories
  -h, --help                      help for nerdctl
  -n, --namespace string          containerd namespace

Run 'nerdctl COMMAND --help' for more information on a command.
`,
			want: Table{
				{"a", 'a', true},
				{"address", 0, true},
				{"debug-full", 0, false},
				{"help", 'h', false},
				{"hosts-dir", 0, true},
				{"namespace", 'n', true},
			},
		},
		{
			name: "pflag, values that may be missing",
			text: "      --color string[=\"always\"]   When to colour\n" +
				"      --init[=true]               Init\n" +
				"  -v, --verbose count[=+1]        More\n",
			want: Table{{"color", 0, false}, {"init", 0, false}, {"verbose", 'v', false}},
		},
		{
			name: "urfave/cli",
			text: `OPTIONS:
   --net value, --network value                   Connect to (default: "bridge")
   --env value, -e value [ --env value, -e value ]  Set variables
   --interactive, -i  Keep stdin open (default: false)
   -n value  a flag of one letter
   --rm               Remove
`,
			want: Table{
				{"env", 'e', true},
				{"interactive", 'i', false},
				{"n", 'n', true},
				{"net", 0, true},
				{"network", 0, true},
				{"rm", 0, false},
			},
		},
		{
			name: "the first of two counts, lists of words are placeholders",
			text: "  --x a, b  with a value\n  --x  without\n  --y=z  no name\n  --  no name\n  -  no name\n  --a b, --!  no name\n",
			want: Table{{"x", 0, true}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, ParseHelp(tt.text)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// A table from a help text is as valid as a built-in one.
func FuzzParseHelp(f *testing.F) {
	f.Add("  -e, --env list       Set\n      --rm    Remove\n")
	f.Add("   --env value, -e value [ --env value, -e value ]  Set\n")
	f.Add("      --color string[=\"always\"]   When\n  -, --\n")
	f.Add("  -a, --a string  Alias\n  -a, --b  Same letter\n")
	f.Fuzz(func(t *testing.T, text string) {
		learned := ParseHelp(text)
		if msg := invalid(learned); msg != "" {
			t.Fatalf("%q: %s", text, msg)
		}
		merged := Docker().Run.Merge(learned)
		if msg := invalid(merged); msg != "" {
			t.Fatalf("%q merged: %s", text, msg)
		}
		for _, s := range learned {
			if !slices.Contains(merged, s) || !strings.Contains(text, s.Name) {
				t.Fatalf("%q: %v", text, s)
			}
		}
	})
}
