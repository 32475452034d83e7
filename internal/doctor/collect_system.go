package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// refreshUnit writes the spec at boot.
const refreshUnit = "metax-cdi-refresh.service"

// maxLog is how much of the end of a log is read, in bytes.
const maxLog = 1 << 20

// denied is a line of a security module about one of our nodes or programs.
var denied = regexp.MustCompile(`/dev/(mx(cd|nd|gd)|dri/)|name="(mx(cd|nd|gd)|card[0-9]+|renderD[0-9]+)"|metax-(hook|runtime)`)

func systemFacts(ctx context.Context, c Config, _ *Facts) (func(*Facts), error) {
	host := c.Root
	s := System{
		Kernel: word(host, "/proc/sys/kernel/osrelease"), Groups: groupNames(host),
		Enforcing: word(host, "/sys/fs/selinux/enforce") == "1", Booleans: map[string]bool{},
		Limits: limits(host), Unit: unit(ctx, c), Hooks: hookFiles(c), HasKubelet: find(host, "kubelet") != "" || host.Exists("/var/lib/kubelet"),
	}
	for _, name := range []string{"container_use_devices", "container_use_dri_devices"} {
		// "0 1" is the value that holds and the one that is pending.
		if fields := strings.Fields(word(host, "/sys/fs/selinux/booleans/"+name)); len(fields) > 0 {
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
	s.SubIDs = subordinate(host, "/etc/subuid", c.Asker) && subordinate(host, "/etc/subgid", c.Asker)
	for line := range strings.Lines(word(host, "/proc/mounts")) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == "/proc" && f[2] == "proc" {
			s.HidePID = strings.Contains(f[3], "hidepid=") && !strings.Contains(f[3], "hidepid=0") && !strings.Contains(f[3], "hidepid=off")
		}
	}
	var kubelet struct {
		CgroupDriver string `json:"cgroupDriver"`
	}
	var err error
	if text := word(host, "/var/lib/kubelet/config.yaml"); text != "" {
		if err = yaml.Unmarshal([]byte(text), &kubelet); err == nil {
			s.Kubelet = kubelet.CgroupDriver
		}
	}
	return func(f *Facts) { f.System = s }, err
}

// groupNames are the host's own; groups of a directory service are not seen.
func groupNames(host *hostfs.Root) map[uint32]string {
	names := map[uint32]string{}
	for line := range strings.Lines(word(host, "/etc/group")) {
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

// maxDenials is how many lines of a log are kept, the last ones.
const maxDenials = 64

// denials are the lines of a log in which somebody was denied what may be a GPU,
// the last one first.
func denials(host *hostfs.Root, p, mark string) []string {
	log, err := host.Open(p)
	if err != nil {
		return nil // not there, or not for us to read
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
		if bytes.Contains(line, []byte(mark)) && denied.Match(line) {
			lines = append(lines, string(bytes.TrimSpace(line)))
		}
	}
	slices.Reverse(lines)
	return lines[:min(len(lines), maxDenials)]
}

// limits are those of the daemons that start containers; of several, the first one's.
func limits(host *hostfs.Root) map[string]uint64 {
	all := map[string]uint64{}
	for _, pid := range numbered(host, "/proc") {
		program := word(host, path.Join("/proc", pid, "comm"))
		if !slices.Contains([]string{"dockerd", "containerd", "crio"}, program) {
			continue
		}
		for line := range strings.Lines(word(host, path.Join("/proc", pid, "limits"))) {
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

// subordinate reports whether a user has ids in a file, by name or by number.
func subordinate(host *hostfs.Root, p string, who Asker) bool {
	for line := range strings.Lines(word(host, p)) {
		owner, _, _ := strings.Cut(line, ":")
		if owner == who.Name || owner == strconv.Itoa(who.UID) {
			return true
		}
	}
	return false
}

// unit finds the refresh unit; systemd is asked how it went only on this machine.
func unit(ctx context.Context, c Config) Unit {
	var u Unit
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		u.Installed = u.Installed || c.Root.Exists(path.Join(dir, refreshUnit))
	}
	targets, _ := c.Root.ReadDir("/etc/systemd/system") // none: no systemd here
	for _, target := range targets {
		if _, err := c.Root.Lstat(path.Join("/etc/systemd/system", target, refreshUnit)); err == nil && strings.HasSuffix(target, ".wants") {
			u.Enabled = true
		}
	}
	systemctl := find(c.Root, "systemctl")
	if !c.Here || !u.Installed || systemctl == "" {
		return u
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	if out, err := c.Ask(ctx, c.Root.Join(systemctl), "show", "--property=Result", refreshUnit); err == nil {
		_, u.Result, _ = strings.Cut(strings.TrimSpace(string(out)), "=")
	}
	return u
}

// hookDirs are where Podman and CRI-O look for hooks.
var hookDirs = []string{"/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"}

// hookFiles are those that run metax-hook.
func hookFiles(c Config) []HookFile {
	host := c.Root
	var all []HookFile
	for _, dir := range hookDirs {
		names, _ := host.ReadDir(dir) // none: no such directory
		for _, name := range names {
			var file struct {
				Hook   struct{ Path string } `json:"hook"`
				Stages []string              `json:"stages"`
			}
			p := path.Join(dir, name)
			text, err := host.ReadFile(p)
			if err != nil || path.Ext(name) != ".json" || json.Unmarshal(text, &file) != nil {
				continue // what is wrong with another's hook is the engine's to say
			}
			if path.Base(file.Hook.Path) == "metax-hook" {
				all = append(all, HookFile{p, file.Hook.Path, file.Stages, c.Trimmed || host.Exists(file.Hook.Path)})
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
