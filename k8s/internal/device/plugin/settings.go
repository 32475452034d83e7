package plugin

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
)

// MACA says which containers are given the host's MXMACA.
type MACA string

// The settings for MXMACA.
const (
	MACAOff    MACA = "off"
	MACAAuto   MACA = "auto" // those whose pod requests it
	MACAAlways MACA = "always"
	// MACAFallback is those whose image has none, by CDI, and those whose pod requests it.
	MACAFallback MACA = "fallback"
)

// ParseMACA reads the name of a setting.
func ParseMACA(s string) (MACA, error) {
	switch v := MACA(s); v {
	case MACAOff, MACAAuto, MACAAlways, MACAFallback:
		return v, nil
	}
	return "", fmt.Errorf("%q is not a setting for MXMACA; want %s, %s, %s or %s", s, MACAOff, MACAAuto, MACAAlways, MACAFallback)
}

// Settings are what an administrator decides about answers to the kubelet.
type Settings struct {
	Policy key.Policy
	// PodPolicies lets pods request a policy and GPUs.
	PodPolicies bool
	MACA        MACA
	EngineRoot  string // as in allocate.Form
	// Kunlunxin tells containers and pods the indices of their GPUs, as Kunlunxin's plugin does.
	Kunlunxin bool
}

// form returns how a container gets its devices, by names of CDI devices if cdi is true. requested is
// what its pod says about MXMACA, if it is known and says something.
func (s Settings) form(v *nodeView, cdi bool, requested *bool, log *slog.Logger) allocate.Form {
	f := allocate.Form{CDI: cdi, EngineRoot: s.EngineRoot, Fallback: s.MACA == MACAFallback && requested == nil}
	if s.MACA == MACAOff || !*cmp.Or(requested, new(s.MACA == MACAAlways || f.Fallback)) {
		return f
	}
	switch {
	case f.Fallback && !cdi: // whether the image has one, only the hook of a CDI device sees
	case cdi:
		f.MACA = v.snapshot.Node().MACA != nil
	case v.software != nil:
		f.MACA, f.Software = true, *v.software
	}
	if !f.MACA {
		log.Warn("a container starts without MXMACA: this node has none, or cannot give it by CDI")
	}
	return f
}
