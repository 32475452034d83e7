// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// ErrEdits reports edits that cannot be applied.
var ErrEdits = errors.New("unusable CDI edits")

// Looker returns the device node at a path of the host, without following a link there;
// hostfs.Root.Node is one.
type Looker func(hostPath string) (hostfs.Node, error)

// Apply edits the config as the CDI library does, so that a container is the same
// whichever program injected the device, with two differences: what is already there is
// not added again, so that applying edits twice has the same result as once; and
// device-list mounts are removed, because they only carry the request. After an error
// the config is unchanged.
func (c *Config) Apply(e *cdispecs.ContainerEdits, look Looker) error {
	if slices.Contains(e.DeviceNodes, nil) || slices.Contains(e.Mounts, nil) ||
		slices.Contains(e.Hooks, nil) || slices.Contains(e.NetDevices, nil) {
		return fmt.Errorf("%w: a list has an empty entry", ErrEdits)
	}
	var p patch
	if err := c.applyDevices(&p, e.DeviceNodes, look); err != nil {
		return err
	}
	if err := c.applyHooks(&p, e.Hooks); err != nil {
		return err
	}
	c.applyEnv(&p, e.Env)
	c.applyMounts(&p, e.Mounts)
	c.applyGroups(&p, e.AdditionalGIDs)
	for _, d := range e.NetDevices {
		p.setJSON(encodeJSON(specs.LinuxNetDevice{Name: d.Name}), "linux", "netDevices", d.HostInterfaceName)
	}
	if e.IntelRdt != nil {
		p.setJSON(encodeJSON(e.IntelRdt), "linux", "intelRdt")
	}
	if len(p.names) == 0 {
		return nil
	}
	start, end := c.rootValue().Span()
	text := append(make([]byte, 0, len(c.text)+8192), c.text[:start]...)
	c.text = append(p.appendPatched(text, c.text, c.rootValue()), c.text[end:]...)
	c.tree = nil
	return nil
}

// encodeJSON returns the JSON of one of the runtime specification's types.
func encodeJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types have only values that JSON can represent
	}
	return raw
}

// applyEnv sets variables: in the position of the last one of the same name, or at the
// end.
func (c *Config) applyEnv(p *patch, env []string) {
	if len(env) == 0 {
		return
	}
	old := c.valueAt("process", "env")
	l := listOf(old, func(jsontree.Value) string { return "" })
	added := len(l.items)
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		at, n := -1, 0
		for o := range old.Elements() {
			if hasName(o, name) {
				at = n
			}
			n++
		}
		for i, o := range l.items[added:] {
			if o.key == name {
				at = added + i
			}
		}
		if raw := jsontree.AppendString(nil, v); at < 0 {
			l.add(name, raw)
		} else {
			l.items[at].raw = raw
		}
	}
	l.saveToPatch(p, "process", "env")
}

// hasName reports whether a variable has this name.
func hasName(variable jsontree.Value, name string) bool {
	is, _, _ := strings.Cut(variable.Text(), "=")
	return is == name
}

// applyMounts replaces mounts by their destination. If there are any, all mounts are
// sorted by depth and otherwise keep their order.
func (c *Config) applyMounts(p *patch, mounts []*cdispecs.Mount) {
	l := &list{old: c.valueAt("mounts")}
	for v := range l.old.Elements() {
		if _, ok := deviceList(v); !ok {
			l.add(v.At("destination").Text(), v.Raw())
		}
	}
	for _, m := range mounts {
		l.remove(m.ContainerPath)
		l.add(m.ContainerPath, encodeJSON(ociMount(m)))
	}
	if len(mounts) > 0 {
		slices.SortStableFunc(l.items, func(a, b item) int { return cmp.Compare(depth(a.key), depth(b.key)) })
	}
	l.saveToPatch(p, "mounts")
}

func depth(dir string) int { return strings.Count(path.Clean(dir), "/") }

// applyHooks appends hooks to their stages, unless they are there already.
func (c *Config) applyHooks(p *patch, hooks []*cdispecs.Hook) error {
	var stages [len(hookStages)]*list
	for _, h := range hooks {
		i := slices.Index(hookStages[:], h.HookName)
		if i < 0 {
			return fmt.Errorf("%w: no hook stage %q", ErrEdits, h.HookName)
		}
		if stages[i] == nil {
			stages[i] = listOf(c.valueAt("hooks", h.HookName), hookKey)
		}
		raw := encodeJSON(ociHook(h))
		key := string(raw)
		if !slices.ContainsFunc(stages[i].items, func(it item) bool { return it.key == key }) {
			stages[i].add(key, raw)
		}
	}
	for i, l := range stages {
		if l != nil {
			l.saveToPatch(p, "hooks", hookStages[i])
		}
	}
	return nil
}

// applyGroups adds groups that the process is not in, except for root's group.
func (c *Config) applyGroups(p *patch, gids []uint32) {
	if len(gids) == 0 {
		return
	}
	l := listOf(c.valueAt("process", "user", "additionalGids"), func(v jsontree.Value) string {
		return strconv.FormatUint(uint64(numericID(v)), 10)
	})
	for _, gid := range gids {
		key := strconv.FormatUint(uint64(gid), 10)
		if gid != 0 && !slices.ContainsFunc(l.items, func(i item) bool { return i.key == key }) {
			l.add(key, []byte(key))
		}
	}
	l.saveToPatch(p, "process", "user", "additionalGids")
}

var hookStages = [...]string{"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}

func ociHook(h *cdispecs.Hook) specs.Hook {
	return specs.Hook{Path: h.Path, Args: h.Args, Env: h.Env, Timeout: h.Timeout}
}

// hookKey is the hook's JSON as encode writes it, by which equal hooks are recognized.
func hookKey(v jsontree.Value) string {
	h := specs.Hook{Path: v.At("path").Text(), Args: stringsOf(v.At("args")), Env: stringsOf(v.At("env"))}
	if n, ok := v.At("timeout").Int(); ok {
		timeout := int(n)
		h.Timeout = &timeout
	}
	return string(encodeJSON(h))
}

// ociMount converts a mount. In a user namespace the CDI library maps bind mounts into
// it; this package does not, because some file systems, such as overlayfs, do not
// support that and the container would not start. Files that are open to everyone need
// no mapping.
func ociMount(m *cdispecs.Mount) specs.Mount {
	return specs.Mount{Destination: m.ContainerPath, Type: m.Type, Source: m.HostPath, Options: m.Options}
}
