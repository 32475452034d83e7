package oci

import (
	"github.com/opencontainers/runtime-spec/specs-go"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

var hookStages = [...]string{"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}

func ociHook(h *cdispecs.Hook) specs.Hook {
	return specs.Hook{Path: h.Path, Args: h.Args, Env: h.Env, Timeout: h.Timeout}
}

// hookKey is the hook as we would write it: two that differ in nothing else are
// the same.
func hookKey(v jsontree.Value) string {
	h := specs.Hook{Path: v.At("path").Text(), Args: texts(v.At("args")), Env: texts(v.At("env"))}
	if n, ok := v.At("timeout").Int(); ok {
		timeout := int(n)
		h.Timeout = &timeout
	}
	return string(encode(h))
}

// ociMount is a mount as the runtime takes it. In a user namespace the library has
// bind mounts mapped into it; we do not: not every file system can be (overlayfs
// cannot), the container then does not start, and what is open to everyone needs no
// mapping.
func ociMount(m *cdispecs.Mount) specs.Mount {
	return specs.Mount{Destination: m.ContainerPath, Type: m.Type, Source: m.HostPath, Options: m.Options}
}
