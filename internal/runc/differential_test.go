// SPDX-License-Identifier: Apache-2.0

package runc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// realRuntimes returns runc and crun of each suite that test/e2e/run has unpacked. Each
// value is a command to which the runtime's arguments are added.
func realRuntimes(t *testing.T) map[string][]string {
	t.Helper()
	roots := needs.Env(t, "METAX_E2E_ROOTS", "with the runtimes that test/e2e/run unpacks")
	found := map[string][]string{}
	for _, name := range []string{"runc", "crun"} {
		paths, _ := filepath.Glob(filepath.Join(roots, "*", "usr", "bin", name))
		for _, path := range paths {
			root := strings.TrimSuffix(path, "/usr/bin/"+name)
			loader, _ := filepath.Glob(root + "/lib*/ld-linux-*.so.*")
			libraries, _ := filepath.Glob(root + "/usr/lib/*-linux-gnu*")
			if len(loader) > 0 && len(libraries) > 0 {
				found[filepath.Base(root)+" "+name] = []string{loader[0], "--library-path", strings.Join(libraries, ":"), path}
			}
		}
		if len(paths) == 0 {
			t.Fatalf("no %s among the engines unpacked in %s", name, roots)
		}
	}
	return found
}

// helpFlag is a flag in the help of runc ("--bundle value, -b value") or crun ("-b,
// --bundle=DIR").
var helpFlag = regexp.MustCompile(`(?:^|[\s,])(--?[a-zA-Z?][a-z-]*)(=[A-Z]+| value|)`)

// TestFlagsOfRealRuntimes checks that Scan knows the flags in the help of every
// runtime, and whether they take a value.
func TestFlagsOfRealRuntimes(t *testing.T) {
	for name, command := range realRuntimes(t) {
		for _, verb := range []string{"", "create", "run", "restore"} {
			t.Run(strings.TrimSpace(name+" "+verb), func(t *testing.T) {
				args := append(command[1:len(command):len(command)], strings.Fields(verb+" --help")...)
				out, err := exec.Command(command[0], args...).CombinedOutput()
				if strings.HasPrefix(string(out), "unknown command restore") {
					t.Skip("needs a runtime built with restore")
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				seen := 0
				for line := range strings.Lines(string(out)) {
					indent := len(line) - len(strings.TrimLeft(line, " "))
					if line = line[indent:]; indent > 8 || !strings.HasPrefix(line, "-") {
						continue
					}
					line, _, _ = strings.Cut(line, "   ")
					valued := regexp.MustCompile(`=[A-Z]+| value`).MatchString(line)
					for _, m := range helpFlag.FindAllStringSubmatch(line, -1) {
						seen++
						checkFlag(t, verb, m[1], valued)
					}
				}
				if seen < 6 {
					t.Errorf("found %d flags only in the help:\n%s", seen, out)
				}
			})
		}
	}
}

// checkFlag tries a flag before the word after which all is known.
func checkFlag(t *testing.T, verb, flag string, valued bool) {
	t.Helper()
	if name := strings.TrimLeft(flag, "-"); asksHelp(name) || containsWord(" version v V ", name) {
		return
	}
	args := []string{flag, "delete", "create", "last"}
	if flag == "--rootless" { // which runsc has without a value
		args[1] = "true"
	}
	if verb != "" {
		args = []string{verb, flag, "delete", "last"}
	}
	c := Scan(args)
	switch {
	case verb == "" && valued && c.Verb != "create",
		verb == "" && !valued && c.Verb != "delete":
		t.Errorf("%s: the verb of %q is %q", flag, args, c.Verb)
	case verb != "" && valued && c.ID != "last",
		verb != "" && !valued && c.ID != "delete":
		t.Errorf("%s: the id of %q is %q", flag, args, c.ID)
	}
}

// TestBundlesOfRealRuntimes runs command lines with bundles that request a namespace
// that no kernel has, and checks that the runtime fails at the bundle that Scan found,
// and logs that where Scan found the log.
func TestBundlesOfRealRuntimes(t *testing.T) {
	needs.Root(t, "as runc does")
	both := []string{
		"create x", "create --bundle B x", "create --bundle=B x", "create -b B x", "create -b B -b C x", "run -b B x",
		"create --bundle B -- x", "-- create --bundle B x", "--log /L --log-format json create --bundle B x",
		"--log=/L create --pid-file P --bundle B x", "--root R --log M --log /L create --bundle C --no-pivot x",
		"--log /L create --preserve-fds 0 --bundle create create", "create --pid-file --bundle --bundle B x",
		"--systemd-cgroup --debug --log /L run --no-new-keyring --bundle B x",
	}
	lines := map[string][]string{
		"runc": append([]string{"create -bundle B x", "create -bundle=B x", "-log /L create -b=B x", "create x --bundle B", "run -d -b B x"}, both...),
		"crun": append([]string{"create -bB x", "run -db B x", "create -b B -f other.json x", "create -b B --config C/other.json x", "--cgroup-manager cgroupfs create -b B x"}, both...),
	}
	for name, command := range realRuntimes(t) {
		kind := name[strings.LastIndexByte(name, ' ')+1:]
		for _, line := range lines[kind] {
			t.Run(name+" "+line, func(t *testing.T) {
				dir := t.TempDir()
				for _, bundle := range []string{".", "B", "C", "create", "--bundle"} {
					writeBundle(t, filepath.Join(dir, bundle), "config.json", bundle)
					writeBundle(t, filepath.Join(dir, bundle), "other.json", bundle+"/other")
				}
				words := append([]string{"--root", filepath.Join(dir, "state")}, strings.Fields(strings.ReplaceAll(line, "/L", dir+"/L"))...)
				cmd := exec.Command(command[0], append(command[1:len(command):len(command)], words...)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err == nil {
					t.Fatalf("a container in an unknown namespace starts:\n%s", out)
				}
				c := Scan(words)
				mark := map[string]string{"config.json": "", "other.json": "/other"}[filepath.Base(c.File())]
				mark = filepath.Dir(c.File()) + mark
				if c.Log != "" {
					if out, err = os.ReadFile(c.Log); err != nil {
						t.Fatal(err)
					}
				}
				if want := "of-" + mark + "-end"; !strings.Contains(string(out), want) {
					t.Errorf("Scan gives %+v, but the runtime does not speak of %s:\n%s", c, want, out)
				}
			})
		}
	}
}

func writeBundle(t *testing.T, dir, file, mark string) {
	t.Helper()
	testfile.Mkdir(t, dir, 0o755)
	text := fmt.Sprintf(`{"ociVersion":"1.0.2","process":{"cwd":"/","args":["true"],"user":{"uid":0,"gid":0}},`+
		`"root":{"path":"/none"},"mounts":[],"linux":{"namespaces":[{"type":"of-%s-end"}]}}`, mark)
	testfile.Write(t, filepath.Join(dir, file), text, 0o644)
}
