package specfile

import (
	"errors"
	"fmt"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

func validateEdits(e *specs.ContainerEdits) error {
	if err := validateEnv(e.Env); err != nil {
		return err
	}
	for _, n := range e.DeviceNodes {
		if err := validateNode(n); err != nil {
			return err
		}
	}
	for _, h := range e.Hooks {
		if err := validateHook(h); err != nil {
			return err
		}
	}
	for _, m := range e.Mounts {
		switch {
		case m.HostPath == "":
			return fmt.Errorf("mount at %q: no host path", m.ContainerPath)
		case m.ContainerPath == "":
			return fmt.Errorf("mount of %q: no container path", m.HostPath)
		}
	}
	if err := validateRdt(e.IntelRdt); err != nil {
		return err
	}
	return validateNet(e.NetDevices)
}

func validateEnv(env []string) error {
	for _, v := range env {
		if strings.IndexByte(v, '=') <= 0 {
			return fmt.Errorf("invalid environment variable %q", v)
		}
	}
	return nil
}

func validateNode(n *specs.DeviceNode) error {
	if n.Path == "" {
		return errors.New("device node without a path")
	}
	switch n.Type {
	case "", "b", "c", "u", "p":
	default:
		return fmt.Errorf("device node %q: invalid type %q", n.Path, n.Type)
	}
	if n.Permissions != "none" && strings.Trim(n.Permissions, "rwm") != "" {
		return fmt.Errorf("device node %q: invalid permissions %q", n.Path, n.Permissions)
	}
	return nil
}

func validateHook(h *specs.Hook) error {
	switch h.HookName {
	case "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop":
	default:
		return fmt.Errorf("invalid hook name %q", h.HookName)
	}
	if h.Path == "" {
		return fmt.Errorf("%s hook without a path", h.HookName)
	}
	if err := validateEnv(h.Env); err != nil {
		return fmt.Errorf("%s hook: %w", h.HookName, err)
	}
	return nil
}

// validateRdt wants a class that can be the name of a file, or "/".
func validateRdt(r *specs.IntelRdt) error {
	if r == nil || r.ClosID == "/" {
		return nil
	}
	if c := r.ClosID; len(c) >= 4096 || c == "." || c == ".." || strings.ContainsAny(c, "/\n") {
		return fmt.Errorf("intelRdt: invalid closID %.80q", c)
	}
	return nil
}

func validateNet(devices []*specs.LinuxNetDevice) error {
	if len(devices) == 0 {
		return nil
	}
	hosts, names := map[string]bool{}, map[string]bool{}
	for _, d := range devices {
		switch {
		case d.HostInterfaceName == "" || d.Name == "":
			return fmt.Errorf("network device %q as %q: a name is missing", d.HostInterfaceName, d.Name)
		case hosts[d.HostInterfaceName]:
			return fmt.Errorf("network device %q: given twice", d.HostInterfaceName)
		case names[d.Name]:
			return fmt.Errorf("network device %q: two have this name", d.Name)
		}
		hosts[d.HostInterfaceName], names[d.Name] = true, true
	}
	return nil
}
