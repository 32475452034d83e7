// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// PodChoice is what the annotations of a pod say about its GPUs.
type PodChoice struct {
	// Policy is how the GPUs are picked; nil if the pod does not say.
	Policy *key.Policy
	// GPUs are the chosen GPUs in the order of the annotation, each once; empty if the pod
	// chooses none.
	GPUs []gpu.UUID
	// MACA reports whether the pod's containers get the host's MXMACA; nil if the pod does not
	// say.
	MACA *bool
}

// The limits of what is read of a pod.
const (
	maxWord = 64
	maxGPUs = 128 // chosen GPUs; no MetaX system has more
)

// ParsePod reads the annotations of a pod. Of the policies, PolicyAnnotation goes before
// HAMiPolicyAnnotation. What is not valid is left out, and has an ErrAnnotation among the
// errors: a pod with a mistake in it still runs.
func ParsePod(annotations map[string]string) (PodChoice, []error) {
	var c PodChoice
	var errs []error
	for _, part := range []struct {
		name string
		read func(name, text string) error
	}{
		{HAMiPolicyAnnotation, c.readHAMiPolicy},
		{PolicyAnnotation, c.readPolicy},
		{GPUsAnnotation, c.readGPUs},
		{MACAAnnotation, c.readMACA},
	} {
		if text, ok := annotations[part.name]; ok {
			if err := part.read(part.name, text); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return c, errs
}

// readHAMiPolicy reads a policy of HAMi, whose policies for nodes have the same names and aims
// as ours for GPUs.
func (c *PodChoice) readHAMiPolicy(name, text string) error {
	switch text {
	case key.Spread.String():
		c.Policy = new(key.Spread)
	case key.Binpack.String():
		c.Policy = new(key.Binpack)
	default:
		return Invalid(name, "%.40q; want %s or %s", text, key.Spread, key.Binpack)
	}
	return nil
}

func (c *PodChoice) readPolicy(name, text string) error {
	if len(text) > maxWord {
		return Invalid(name, "%.40q is too long", text)
	}
	p, err := alloc.ParsePolicy(text)
	if err != nil {
		return Invalid(name, "%v", err)
	}
	c.Policy = &p
	return nil
}

func (c *PodChoice) readGPUs(name, text string) (err error) {
	c.GPUs, err = parseGPUs(name, text)
	return err
}

// ParseGiven reads a GivenAnnotation: GPUs in the order of the node, each once. The error is
// an ErrAnnotation.
func ParseGiven(text string) ([]gpu.UUID, error) { return parseGPUs(GivenAnnotation, text) }

// Given returns a GivenAnnotation.
func Given(gpus []gpu.UUID) string {
	words := make([]string, len(gpus))
	for i, u := range gpus {
		words[i] = string(u)
	}
	return strings.Join(words, ",")
}

func parseGPUs(name, text string) ([]gpu.UUID, error) {
	if len(text) > maxGPUs*128 {
		return nil, Invalid(name, "%d bytes", len(text))
	}
	var gpus []gpu.UUID
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		u, err := gpu.ParseUUID(strings.TrimSpace(word))
		switch {
		case err != nil:
			return nil, Invalid(name, "%.40q is not the UUID of a GPU", word)
		case seen[strings.ToLower(string(u))]:
			return nil, Invalid(name, "%q occurs twice", u)
		case len(gpus) == maxGPUs:
			return nil, Invalid(name, "more than %d GPUs", maxGPUs)
		}
		seen[strings.ToLower(string(u))] = true
		gpus = append(gpus, u)
	}
	return gpus, nil
}

func (c *PodChoice) readMACA(name, text string) error {
	if text != "true" && text != "false" {
		return Invalid(name, "%.40q; want true or false", text)
	}
	on := text == "true"
	c.MACA = &on
	return nil
}
