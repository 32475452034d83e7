// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"io/fs"
	"maps"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// readLinks reads the rows of all GPUs. A row that leads to no GPU is left out, and so are all
// rows of and to nodes that share an address.
func (r *reader) readLinks(nodes []node) {
	address, count := map[int]gpu.BDF{}, map[gpu.BDF]int{}
	for _, n := range nodes {
		address[n.number] = n.bdf
		count[n.bdf]++
	}
	for i := range nodes {
		n := &nodes[i]
		if count[n.bdf] > 1 {
			continue
		}
		var rows map[int]row
		var err error
		if r.readInTime(func() { rows, err = r.rows(n.dir) }) != nil {
			return
		}
		if err != nil {
			r.warnUnread(err)
			continue
		}
		n.GPU.links = map[gpu.BDF]row{}
		for to, link := range rows {
			if b, ok := address[to]; ok && count[b] == 1 && b != n.bdf {
				n.GPU.links[b] = link
			}
		}
	}
	r.warnDiffering(nodes)
}

// rows returns the links of a node, by the number of the node at the other end. For the same
// node, a direct link counts, not an indirect one.
func (r *reader) rows(dir string) (map[int]row, error) {
	rows := map[int]row{}
	for _, which := range LinkDirs {
		names, err := r.readDir(dir + "/" + which)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		direct := map[int]row{}
		for _, name := range names {
			text, err := r.readFile(dir + "/" + which + "/" + name + "/" + LinkFile)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return nil, err
			}
			if to, link, ok := parseLink(text); ok {
				direct[to] = weakerRow(direct[to], link)
			}
		}
		maps.Copy(rows, direct)
	}
	return rows, nil
}

// warnDiffering warns once if there are pairs whose two rows differ.
func (r *reader) warnDiffering(nodes []node) {
	links := map[gpu.BDF]map[gpu.BDF]row{}
	for _, n := range nodes {
		links[n.bdf] = n.GPU.links
	}
	for _, n := range nodes {
		for _, m := range nodes {
			link, back := n.GPU.links[m.bdf], links[m.bdf][n.bdf]
			if link.known && back.known && link.kind != back.kind {
				r.warn(
					"GPU %s has a link of the kind %s to %s, and that one of the kind %s back; the weaker counts, also for other such pairs", n.bdf, link.kind, m.bdf, back.kind)
				return
			}
		}
	}
}
