// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// refreshUnit writes the spec at boot.
const refreshUnit = "metax-cdi-refresh.service"

// maxLog is how much of the end of a log is read, in bytes.
const maxLog = 1 << 20

// denialPattern matches a line of a security module about one of our nodes or programs.
var denialPattern = lazyregexp.New(`/dev/(mx(cd|nd|gd)|dri/)|name="(mx(cd|nd|gd)|card[0-9]+|renderD[0-9]+)"|metax-(hook|runtime)`)

func systemFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	host := c.Root
	s := System{
		Distribution: osDistribution(host), Kernel: readWord(host, "/proc/sys/kernel/osrelease"), Groups: groupNames(host),
		Enforcing: readWord(host, "/sys/fs/selinux/enforce") == "1", Booleans: map[string]bool{},
		Limits: openFileLimits(host), Unit: refreshUnitState(ctx, c), Hooks: hookFiles(c),
		HasKubelet: findProgram(host, "kubelet") != "" || host.Exists("/var/lib/kubelet"),
	}
	if c.Here {
		s.MissingCalls = missingCalls()
	}
	for _, name := range []string{"container_use_devices", "container_use_dri_devices"} {
		// "0 1" are the current value and the pending one.
		if fields := strings.Fields(readWord(host, "/sys/fs/selinux/booleans/"+name)); len(fields) > 0 {
			s.Booleans[name] = fields[0] == "1"
		}
	}
	for _, log := range []struct{ path, module, mark string }{
		{"/var/log/audit/audit.log", "SELinux", "avc:  denied"},
		{"/var/log/audit/audit.log", "AppArmor", `apparmor="DENIED"`},
		{"/var/log/kern.log", "AppArmor", `apparmor="DENIED"`},
	} {
		for _, line := range denials(host, log.path, log.mark) {
			s.Denials = append(s.Denials, Denial{log.module, log.path, line})
		}
	}
	s.SubIDs = hasSubIDs(host, "/etc/subuid", c.Asker) && hasSubIDs(host, "/etc/subgid", c.Asker)
	for line := range strings.Lines(readWord(host, "/proc/mounts")) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == "/proc" && f[2] == "proc" {
			s.HidePID = strings.Contains(f[3], "hidepid=") && !strings.Contains(f[3], "hidepid=0") &&
				!strings.Contains(f[3], "hidepid=off")
		}
	}
	var kubelet struct {
		CgroupDriver string `json:"cgroupDriver"`
	}
	var err error
	if text := readWord(host, "/var/lib/kubelet/config.yaml"); text != "" {
		if err = yaml.Unmarshal([]byte(text), &kubelet); err == nil {
			s.Kubelet = kubelet.CgroupDriver
		}
	}
	return func(f *Facts) { f.System = s }, err
}

// missingCalls tries the system calls that metax-hook replaces by older ones where they
// are missing, each with a handle that does not exist. Versions of kernels do not tell:
// distributions add calls to old ones.
func missingCalls() (names []string) {
	const none = -1
	try := func(name string, err error) {
		if errors.Is(err, unix.ENOSYS) {
			names = append(names, name)
		}
	}
	_, err := unix.OpenTree(none, "", 0)
	try("open_tree", err)
	try("move_mount", unix.MoveMount(none, "", none, "", 0))
	_, err = unix.Fsopen("", 0)
	try("fsopen", err)
	try("mount_setattr", unix.MountSetattr(none, "", 0, &unix.MountAttr{}))
	_, err = unix.Openat2(none, "", &unix.OpenHow{})
	try("openat2", err)
	return names
}

// groupNames are the names of the host's own groups, without those of a directory
// service.
func groupNames(host *hostfs.Root) map[uint32]string {
	names := map[uint32]string{}
	for line := range strings.Lines(readWord(host, "/etc/group")) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 3 {
			continue
		}
		if gid, err := strconv.ParseUint(f[2], 10, 32); err == nil {
			names[uint32(gid)] = f[0]
		}
	}
	return names
}

// maxDenials is how many lines of a log are kept, from its end.
const maxDenials = 64

// denials are the lines of a log that deny access to what may be a GPU, the last one
// first.
func denials(host *hostfs.Root, p, mark string) []string {
	log, err := host.Open(p)
	if err != nil {
		return nil // it does not exist, or this user may not read it
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil && info.Size() > maxLog {
		if _, err := log.Seek(-maxLog, io.SeekEnd); err != nil {
			return nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(log, maxLog))
	if err != nil {
		return nil
	}
	var lines []string
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(mark)) && denialPattern().Match(line) {
			lines = append(lines, string(bytes.TrimSpace(line)))
		}
	}
	slices.Reverse(lines)
	return lines[:min(len(lines), maxDenials)]
}

// openFileLimits are the limits of the daemons that start containers; if one runs
// several times, that of the first.
func openFileLimits(host *hostfs.Root) map[string]uint64 {
	all := map[string]uint64{}
	for _, pid := range processDirs(host, "/proc") {
		program := readWord(host, path.Join("/proc", pid, "comm"))
		if !slices.Contains([]string{"dockerd", "containerd", "crio"}, program) {
			continue
		}
		for line := range strings.Lines(readWord(host, path.Join("/proc", pid, "limits"))) {
			rest, ok := strings.CutPrefix(line, "Max open files")
			f := strings.Fields(rest)
			if !ok || len(f) == 0 {
				continue
			}
			open, err := strconv.ParseUint(f[0], 10, 64)
			if f[0] == "unlimited" {
				open, err = 1<<63, nil
			}
			if _, known := all[program]; err == nil && !known {
				all[program] = open
			}
		}
	}
	return all
}

// hasSubIDs reports whether a file has ids for a user, by name or by number.
func hasSubIDs(host *hostfs.Root, p string, who Asker) bool {
	for line := range strings.Lines(readWord(host, p)) {
		owner, _, _ := strings.Cut(line, ":")
		if owner == who.Name || owner == strconv.Itoa(who.UID) {
			return true
		}
	}
	return false
}

// refreshUnitState finds the refresh unit. It asks systemd for the result only on this
// machine.
func refreshUnitState(ctx context.Context, c Config) Unit {
	var u Unit
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		u.Installed = u.Installed || c.Root.Exists(path.Join(dir, refreshUnit))
	}
	targets, _ := c.Root.ReadDir("/etc/systemd/system") // an error means no systemd
	for _, target := range targets {
		if _, err := c.Root.Lstat(path.Join("/etc/systemd/system", target, refreshUnit)); err == nil &&
			strings.HasSuffix(target, ".wants") {
			u.Enabled = true
		}
	}
	systemctl := findProgram(c.Root, "systemctl")
	if !c.Here || !u.Installed || systemctl == "" {
		return u
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if out, err := c.Ask(ctx, c.Root.Join(systemctl), "show", "--property=Result", refreshUnit); err == nil {
		_, u.Result, _ = strings.Cut(strings.TrimSpace(string(out)), "=")
	}
	return u
}

// hookDirs are the directories of hooks of Podman and CRI-O.
var hookDirs = []string{"/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"}

// hookFiles are the hooks that run metax-hook.
func hookFiles(c Config) []HookFile {
	host := c.Root
	var all []HookFile
	for _, dir := range hookDirs {
		names, _ := host.ReadDir(dir) // an error means no such directory
		for _, name := range names {
			var file struct {
				Hook   struct{ Path string } `json:"hook"`
				Stages []string              `json:"stages"`
			}
			p := path.Join(dir, name)
			text, err := host.ReadFile(p)
			if err != nil || path.Ext(name) != ".json" || json.Unmarshal(text, &file) != nil {
				continue // the engine itself reports a broken hook
			}
			if path.Base(file.Hook.Path) == "metax-hook" {
				all = append(all,
					HookFile{Path: p, Hook: file.Hook.Path, Stages: file.Stages, Runs: c.Trimmed || host.Exists(file.Hook.Path)})
			}
		}
	}
	return all
}

// Me is the user who runs this program.
func Me() (Asker, error) {
	groups, err := os.Getgroups()
	if err != nil {
		return Asker{}, fmt.Errorf("find out your groups: %w", err)
	}
	me := Asker{UID: os.Getuid(), Groups: append(groups, os.Getgid()), Name: fmt.Sprint(os.Getuid())}
	// A user without a name, or with one that only a directory service knows, goes by number.
	if u, err := user.LookupId(me.Name); err == nil {
		me.Name = u.Username
	}
	return me, nil
}
