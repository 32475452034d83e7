// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// requestFromOptions reads the request for count GPUs that the command's options make, and the
// picker for it.
func (t toolkit) requestFromOptions(c *cli.Context, node gpu.Node, graph *topology.Graph, count string,
	free []int,
) (req alloc.Request, picker *alloc.Picker, err error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return req, nil, usageErrorf("%s %q: want a number of GPUs from 1 to %d", c.Command.Name, count, len(node.GPUs))
	}
	req = alloc.Request{N: n, Free: free, Explain: c.Bool("explain")}
	if req.Policy, err = t.requestedPolicy(c); err != nil {
		return req, nil, err
	}
	if req.Scope, err = alloc.ParseScope(optionOrSetting(c, "scope", t.settings.Scope)); err != nil {
		return req, nil, usageError(err)
	}
	if req.Sizes, err = alloc.ParseSizeRule(optionOrSetting(c, "sizes", t.settings.Sizes)); err != nil {
		return req, nil, usageError(err)
	}
	req.SizesOrigin = "--sizes or METAX_CTK_GPUS_SIZES"
	if !c.IsSet("sizes") || c.String("sizes") == "" {
		req.SizesOrigin = t.settings.Sizes.Origin
	}
	if c.IsSet("require") {
		if req.Required, err = whole(node, "--require", c.String("require")); err != nil {
			return req, nil, err
		}
		if named := len(req.Required); named > n {
			return req, nil, usageErrorf("--require names %d GPUs, more than the %d requested", named, n)
		}
	}
	weights, err := alloc.ParseWeights(c.String("weights"))
	if err != nil {
		return req, nil, usageError(err)
	}
	picker, err = t.newPicker(node, graph, weights)
	return req, picker, err
}

// pickGPUs is the answer to what requestFromOptions reads, with its warnings printed.
func (t toolkit) pickGPUs(c *cli.Context, node gpu.Node, graph *topology.Graph, count string, free []int,
	holders []usage.Holder,
) (alloc.Answer, error) {
	req, picker, err := t.requestFromOptions(c, node, graph, count, free)
	if err != nil {
		return alloc.Answer{}, err
	}
	if err := assign.Unmet(node, req, holders); err != nil {
		return alloc.Answer{}, err
	}
	answer, err := picker.Pick(req)
	t.warn(answer.Warnings...)
	if err != nil && !c.IsSet("free") && !c.IsSet("busy") {
		err = assign.Refused(node, picker, req, err)
	}
	return answer, err
}

// requestedPolicy returns the policy of --policy or of the configuration.
func (t toolkit) requestedPolicy(c *cli.Context) (key.Policy, error) {
	policy, err := alloc.ParsePolicy(optionOrSetting(c, "policy", t.settings.Policy))
	return policy, orUsage(err)
}

// pickHolders returns the holders that limit the pick: none if --free is given. The
// parameter all says, for the error message, what "--free all" would do.
func (t toolkit) pickHolders(c *cli.Context, node gpu.Node, all string) ([]usage.Holder, error) {
	if c.IsSet("free") {
		return nil, nil
	}
	required, _ := resolveGPUs(node, "--require", c.String("require")) // requestFromOptions says what is wrong with it
	named := make([]gpu.BDF, len(required))
	for i, index := range required {
		named[i] = node.GPUs[index].BDF
	}
	holders, err := t.findHolders(c, node, named...)
	if err != nil {
		return nil, fmt.Errorf("%w; --free all %s, also those in use or unhealthy", err, all)
	}
	return holders, nil
}

// freeGPUs returns the GPUs that --free names, otherwise the healthy ones that the holders
// do not use.
func (t toolkit) freeGPUs(c *cli.Context, node gpu.Node, holders []usage.Holder) ([]int, error) {
	if !c.IsSet("free") {
		return assign.Free(node, holders), nil
	}
	free, err := whole(node, "--free", c.String("free"))
	if err != nil {
		return nil, err
	}
	if sick := assign.Without(free, node.Healthy()); len(sick) > 0 {
		t.warn(fmt.Sprintf("--free names unhealthy GPUs, and they may be picked: GPU %s (metax-ctk device list)",
			wording.List(sick)))
	}
	return free, nil
}

// newPicker returns the Picker for a graph of the node.
func (t toolkit) newPicker(node gpu.Node, graph *topology.Graph, weights link.Weights) (*alloc.Picker, error) {
	if weights == link.BandwidthWeights && !bandwidthKnown(node) {
		t.warn("--weights=bandwidth has no effect: no link that is up has a known bandwidth (field gbps, docs/node.md)")
	}
	return alloc.NewWeighted(graph, weights)
}

// bandwidthKnown reports whether the bandwidth of a link that is up is known.
func bandwidthKnown(node gpu.Node) bool {
	return slices.ContainsFunc(node.Links, func(l gpu.Link) bool { return l.GBps > 0 && !l.Down })
}

// whole resolves a list of GPU names that an option was given, of GPUs that may be picked.
func whole(node gpu.Node, option, list string) ([]int, error) {
	picked, err := assign.Whole(node, option, list)
	if errors.As(err, new(*assign.DividedError)) {
		return nil, err
	}
	return picked, orUsage(err)
}

// resolveGPUs resolves a list of GPU names that an option was given.
func resolveGPUs(node gpu.Node, option, list string) ([]int, error) {
	named, err := assign.Indices(node, option, list)
	return named, orUsage(err)
}

// buildGraph builds the node's graph; its warnings are those of the node.
func (t toolkit) buildGraph(node gpu.Node) *topology.Graph {
	graph, warnings := topology.New(node)
	t.warnNode(warnings...)
	return graph
}
