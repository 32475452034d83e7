package oci

import (
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

var hookStages = [...]string{"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}

func encodeHook(h *cdispecs.Hook) []byte {
	var o object
	o.text("path", h.Path)
	o.optTexts("args", h.Args)
	o.optTexts("env", h.Env)
	if h.Timeout != nil {
		o.number("timeout", int64(*h.Timeout))
	}
	return o.end()
}

// hookKey is the hook as we would write it: two that differ in nothing else are
// the same.
func hookKey(v jsontree.Value) string {
	h := cdispecs.Hook{Path: v.At("path").Text(), Args: texts(v.At("args")), Env: texts(v.At("env"))}
	if n, ok := v.At("timeout").Int(); ok {
		timeout := int(n)
		h.Timeout = &timeout
	}
	return string(encodeHook(&h))
}

// encodeMount writes a mount. In a user namespace the library has bind mounts
// mapped into it; we do not: not every file system can be (overlayfs cannot), the
// container then does not start, and what is open to everyone needs no mapping.
func encodeMount(m *cdispecs.Mount) []byte {
	var o object
	o.text("destination", m.ContainerPath)
	o.optText("type", m.Type)
	o.optText("source", m.HostPath)
	o.optTexts("options", m.Options)
	return o.end()
}

func encodeRdt(r *cdispecs.IntelRdt) []byte {
	var o object
	o.optText("closID", r.ClosID)
	o.optTexts("schemata", r.Schemata)
	o.optText("l3CacheSchema", r.L3CacheSchema)
	o.optText("memBwSchema", r.MemBwSchema)
	o.optTrue("enableMonitoring", r.EnableMonitoring)
	return o.end()
}
